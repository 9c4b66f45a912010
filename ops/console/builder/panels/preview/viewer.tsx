import { Select } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { type ReactNode, useMemo, useState } from 'react';
import { useMay } from '../../../client/may.ts';
import { rolesRead } from '../../../client/people.ts';
import type { Grants } from '../../../people/grants.ts';
import { useTenantID } from '../../../ui/asset-title.tsx';
import type { PageDocument } from '../../document.ts';
import { sharedWith } from '../sharing/share.ts';
import { type Demand, demandsOf, isPermitted } from './may-do.ts';

const VIEWER = ' viewer';
const NOTHING: Grants = { rolePermissions: [], assetPermissions: [] };

interface Viewer {
  /** The field in which the viewer is chosen. */
  field: ReactNode;
  error: Error | null;
  canOpen: boolean;
  /** Deeds on the page that the viewer would be refused. */
  refused: readonly Demand[];
}

/** A choice of whose rights a page is looked at with: those to see it and nothing else, or those of a role. */
export function useViewer(document: PageDocument, label: string): Viewer {
  const may = useMay();
  const { data: roles = [], error } = useQuery({ ...rolesRead(useTenantID()), enabled: may('role.list') });
  const [chosen, setChosen] = useState(VIEWER);
  const grants = roles.find(({ roleID }) => roleID === chosen) ?? sharedWith(NOTHING, document);
  const demands = useMemo(() => demandsOf(document), [document]);
  const refused = demands.filter((demand) => !isPermitted(demand, [grants]));
  const field = (
    <Select
      label={label}
      allowDeselect={false}
      data={[
        { value: VIEWER, label: 'No right but to see this page' },
        ...roles.map(({ roleID, roleName }) => ({ value: roleID, label: roleName })),
      ]}
      value={chosen}
      onChange={(next) => next && setChosen(next)}
    />
  );
  return { field, error, canOpen: refused.every(({ widget }) => widget !== undefined), refused };
}
