import { Checkbox, Fieldset, Stack, Text } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { catalogueRead } from '../client/people.ts';
import { Problem } from '../ui/problem.tsx';

interface Props {
  tenantID: string;
  value: readonly string[];
  onChange: (value: string[]) => void;
  isReadOnly?: boolean;
  fault?: string | undefined;
}

/** Permissions by what they are about; `workflow.*` and `*` hold for permissions of later versions too. */
export function Permissions({ tenantID, value, onChange, isReadOnly = false, fault }: Props) {
  const { data: catalogue, error } = useQuery(catalogueRead(tenantID));
  if (error) return <Problem error={error} />;
  const groups = Map.groupBy(
    (catalogue ?? []).filter((one) => !one.endsWith('*')),
    (one) => one.slice(0, one.indexOf('.')),
  );
  const set = (permission: string, isChosen: boolean) =>
    onChange(isChosen ? [...value, permission] : value.filter((one) => one !== permission));
  const box = (permission: string, label: string, isImplied: boolean) => (
    <Checkbox
      key={permission}
      label={label}
      checked={isImplied || value.includes(permission)}
      disabled={isReadOnly || isImplied}
      onChange={(event) => set(permission, event.currentTarget.checked)}
    />
  );
  const hasAll = value.includes('*');
  return (
    <Fieldset legend="Permissions">
      <Stack gap="xs">
        {fault && (
          <Text size="sm" className="error-text" role="alert">
            {fault}
          </Text>
        )}
        {box('*', 'Everything, also what is added later', false)}
        {[...groups].map(([resource, permissions]) => {
          const hasGroup = hasAll || value.includes(`${resource}.*`);
          const count = hasGroup ? permissions.length : permissions.filter((one) => value.includes(one)).length;
          return (
            <details key={resource} className="group">
              <summary>
                {resource}, {count} of {permissions.length}
              </summary>
              <Stack gap={6} mt={6}>
                {box(`${resource}.*`, `All of ${resource}`, hasAll)}
                {permissions.map((one) => box(one, one, hasGroup))}
              </Stack>
            </details>
          );
        })}
      </Stack>
    </Fieldset>
  );
}
