import { Stack } from '@mantine/core';
import { useMay } from '../client/may.ts';
import { ManyPicker } from '../ui/picker.tsx';

/** Roles that are there, and workflows and pages for which roles are found or made when the form is saved: see `rolesFor`. */
export interface ChosenRoles {
  roleIDs: string[];
  toRun: string[];
  toOpen: string[];
}

interface Props {
  value: ChosenRoles;
  onChange: (value: ChosenRoles) => void;
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
        disabled={isReadOnly}
        value={value.roleIDs}
        error={fault}
        onChange={(roleIDs) => onChange({ ...value, roleIDs })}
      />
      {!isReadOnly && may('role.create') && may('workflow.list') && (
        <ManyPicker
          types={['workflow']}
          label="Or only to run workflows"
          description="Adds a role for each: to run it, to see its runs and to answer their questions, and nothing else"
          placeholder="None"
          canCreate={false}
          value={value.toRun}
          onChange={(toRun) => onChange({ ...value, toRun })}
        />
      )}
      {!isReadOnly && may('role.create') && may('appPage.list') && (
        <ManyPicker
          types={['appPage']}
          label="Or only to use pages"
          description="Adds a role for each, which opens it and nothing else"
          placeholder="None"
          canCreate={false}
          value={value.toOpen}
          onChange={(toOpen) => onChange({ ...value, toOpen })}
        />
      )}
    </Stack>
  );
}
