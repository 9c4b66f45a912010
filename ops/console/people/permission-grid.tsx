import { Checkbox, Fieldset, Stack, Text } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { errorInPlaceOf } from '../client/error-in-place.ts';
import { catalogueRead } from '../client/people.ts';
import { Problem } from '../ui/problem.tsx';
import { assetsOf, type Grants, isOnAll, scopeOf, withScope } from './grants.ts';
import { PermissionRow } from './permission-row.tsx';
import { inWords, lowered, permissionWords, resourceOf, resourceWords, withoutEffect } from './permission-words.ts';
import { singleTypes } from './single-types.ts';

interface Props {
  tenantID: string;
  value: Grants;
  onChange: (change: (before: Grants) => Grants) => void;
  /** Whether a permission may be granted on single assets: of roles, and not of keys. */
  hasSingle: boolean;
  isReadOnly?: boolean;
  fault?: string | undefined;
}

/** Permissions in words, by their types: on everything of a type, or on single assets. */
export function PermissionGrid({ fault, ...props }: Props) {
  const { tenantID, value, onChange, isReadOnly = false } = props;
  const read = useQuery(catalogueRead(tenantID));
  const catalogue = read.data;
  const error = errorInPlaceOf(read);
  if (error) return <Problem error={error} />;
  const offered = inOrder(catalogue ?? []).filter(
    (one) => !withoutEffect.includes(one) || value.rolePermissions.includes(one),
  );
  const groups = Map.groupBy(offered, resourceOf);
  const hasAll = value.rolePermissions.includes('*');
  return (
    <Fieldset legend="Permissions">
      <Stack gap="xs">
        {fault && (
          <Text size="sm" className="error-text" role="alert">
            {fault}
          </Text>
        )}
        <Checkbox
          label="Everything, also what is added later"
          checked={hasAll}
          disabled={isReadOnly}
          onChange={({ currentTarget: { checked } }) =>
            onChange((before) => withScope(before, '*', checked ? 'all' : 'none'))
          }
        />
        {!hasAll &&
          [...groups].map(([resource, permissions]) => (
            <ResourceGroup key={resource} {...props} {...{ resource, permissions }} catalogue={catalogue ?? []} />
          ))}
      </Stack>
    </Fieldset>
  );
}

interface GroupProps extends Omit<Props, 'fault'> {
  resource: string;
  permissions: readonly string[];
  catalogue: readonly string[];
}

function ResourceGroup({ resource, permissions, hasSingle, ...props }: GroupProps) {
  const [isOpen, setOpen] = useState(false);
  const title = resourceWords[resource] ?? resource;
  return (
    <details className="group" onToggle={({ currentTarget: { open } }) => setOpen(open)}>
      <summary>
        {title}:{' '}
        <Text component="span" size="xs" fw={400}>
          {summaryOf(props.value, resource, permissions)}
        </Text>
      </summary>
      {isOpen && (
        <Stack gap="xs" mt={6}>
          {[`${resource}.*`, ...permissions].map((permission) => (
            <PermissionRow
              key={permission}
              {...props}
              about={title}
              permission={permission}
              single={hasSingle && !isOfNone.test(permission) ? singleTypes[resource] : undefined}
            />
          ))}
        </Stack>
      )}
    </details>
  );
}

/** Actions that concern no single asset: one that is created has no title yet, and a list is of all. */
const isOfNone = /\.(create|list|use)$/;

function inOrder(catalogue: readonly string[]): string[] {
  const known = Object.keys(permissionWords);
  const present = catalogue.filter((one) => !one.endsWith('*'));
  return [...known.filter((one) => present.includes(one)), ...present.filter((one) => !known.includes(one))];
}

/** The permissions of a type that are granted, in a line. */
export function summaryOf(grants: Grants, resource: string, permissions: readonly string[]): string {
  if (isOnAll(grants, `${resource}.*`)) return 'everything';
  const parts = [`${resource}.*`, ...permissions].flatMap((permission) => {
    const scope = scopeOf(grants, permission);
    const words = permission.endsWith('.*') ? 'everything' : lowered(inWords(permission));
    if (scope === 'none') return [];
    return scope === 'all' ? [words] : [`${words} (${assetsOf(grants, permission).length})`];
  });
  return parts.length === 0 ? 'nothing' : parts.join(' · ');
}
