import { Select, Stack, Text } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useMemo, useState } from 'react';
import { errorInPlaceOf } from '../../../client/error-in-place.ts';
import { useMay } from '../../../client/may.ts';
import { rolesRead } from '../../../client/people.ts';
import { referenceRead } from '../../../client/references.ts';
import type { Grants } from '../../../people/grants.ts';
import { useTenantID } from '../../../ui/asset-title.tsx';
import { Problem } from '../../../ui/problem.tsx';
import { sharedWith } from '../page/share.ts';
import type { PanelProps } from '../panel.ts';
import { type Demand, demandsOf, isPermitted } from './may-do.ts';

const VIEWER = ' viewer';
const NOTHING: Grants = { rolePermissions: [], assetPermissions: [] };

/** What a viewer of the page could do by a role, and what would be refused. */
export function Preview({ document, onChoose }: Pick<PanelProps, 'document' | 'onChoose'>) {
  const tenantID = useTenantID();
  const may = useMay();
  const read = useQuery({ ...rolesRead(tenantID), enabled: may('role.list') });
  const error = errorInPlaceOf(read);
  const [chosen, setChosen] = useState(VIEWER);
  const role = read.data?.find(({ roleID }) => roleID === chosen);
  const grants = role ?? sharedWith(NOTHING, document);
  const demands = useMemo(() => demandsOf(document), [document]);
  const refused = demands.filter((demand) => !isPermitted(demand, [grants]));
  return (
    <section aria-label="What viewers can do">
      <Text component="h3" size="sm" fw={600}>
        What viewers can do
      </Text>
      <Stack gap="xs" mt={4}>
        {error && <Problem error={error} onRetry={() => void read.refetch()} />}
        <Select
          label="A member with"
          allowDeselect={false}
          data={[
            { value: VIEWER, label: 'No right but to see this page' },
            ...(read.data ?? []).map(({ roleID, roleName }) => ({ value: roleID, label: roleName })),
          ]}
          value={chosen}
          onChange={(next) => next && setChosen(next)}
        />
        {refused.length === 0 && (
          <Text size="sm" role="status">
            Can do everything that is on this page.
          </Text>
        )}
        {refused.length > 0 && (
          <>
            <Text size="sm" role="status">
              {refused.some(({ widget }) => widget === undefined)
                ? 'Cannot open this page.'
                : 'Sees this page, and would be refused:'}
            </Text>
            {refused.every(({ widget }) => widget !== undefined) && (
              <ul className="lines prose" aria-label="What would be refused">
                {refused.map((demand, at) => (
                  // biome-ignore lint/suspicious/noArrayIndexKey: they have no state
                  <li key={at}>
                    <Refused {...{ tenantID, demand, onChoose }} />
                  </li>
                ))}
              </ul>
            )}
          </>
        )}
        <Text size="xs" c="dimmed">
          Questions of a run are answered by those who may answer them in the inbox; others read that the run waits. The
          steps of a run are shown to those who may see its workflow.
        </Text>
      </Stack>
    </section>
  );
}

interface RefusedProps extends Pick<PanelProps, 'onChoose'> {
  tenantID: string;
  demand: Demand;
}

function Refused({ tenantID, demand: { widget, what, ids, type }, onChoose }: RefusedProps) {
  const [id = ''] = ids;
  const isNamed = type !== undefined && type !== 'widget' && id !== '';
  const { data } = useQuery({ ...referenceRead(tenantID, type ?? 'workflow', id), enabled: isNamed });
  return (
    <Text size="sm">
      {widget && onChoose ? (
        <button type="button" className="plain link" onClick={() => onChoose(widget.key)}>
          <bdi>{widget.title}</bdi>
        </button>
      ) : (
        <bdi>{widget?.title}</bdi>
      )}
      : to {what}{' '}
      {data && (
        <>
          “<bdi>{data.title}</bdi>”
        </>
      )}
    </Text>
  );
}
