import { Stack } from '@mantine/core';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useMay } from '../client/may.ts';
import type { Named } from '../client/references.ts';
import { useTenantID } from '../ui/asset-title.tsx';
import { ManyPicker, Picker } from '../ui/picker.tsx';
import { Problem } from '../ui/problem.tsx';
import { roleToRun } from './role-to-run.ts';

interface Props {
  value: string[];
  onChange: (roleIDs: string[]) => void;
  fault: string | undefined;
  isReadOnly?: boolean;
}

export function RoleChoice({ value, onChange, fault, isReadOnly = false }: Props) {
  const may = useMay();
  return (
    <Stack gap="sm">
      <ManyPicker
        types={['role']}
        label="Roles"
        placeholder="None"
        canCreate={false}
        disabled={isReadOnly}
        value={value}
        error={fault}
        onChange={onChange}
      />
      {!isReadOnly && may('role.create') && may('workflow.list') && <ToRun value={value} onChange={onChange} />}
    </Stack>
  );
}

/** The shortest way to a role for a single workflow. */
function ToRun({ value, onChange }: Pick<Props, 'value' | 'onChange'>) {
  const tenantID = useTenantID();
  const queries = useQueryClient();
  const add = useMutation({
    mutationFn: (workflow: Named) => roleToRun(queries, tenantID, workflow),
    onSuccess: (roleID) => onChange([...new Set([...value, roleID])]),
  });
  return (
    <>
      <Picker
        types={['workflow']}
        isFilter
        label="Or only to run a workflow"
        description="Adds a role for it: to run it, to see its runs and to answer their questions, and nothing else"
        disabled={add.isPending}
        value={undefined}
        onChange={(_, chosen) => chosen && add.mutate(chosen)}
      />
      {add.error && <Problem error={add.error} />}
    </>
  );
}
