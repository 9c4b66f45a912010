import { MultiSelect } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { rolesRead } from '../client/people.ts';

interface Props {
  tenantID: string;
  value: string[];
  onChange: (roleIDs: string[]) => void;
  fault: string | undefined;
  isReadOnly?: boolean;
}

export function RoleChoice({ tenantID, value, onChange, fault, isReadOnly = false }: Props) {
  const { data: roles = [] } = useQuery(rolesRead(tenantID));
  return (
    <MultiSelect
      label="Roles"
      placeholder={value.length === 0 ? 'None' : ''}
      searchable
      disabled={isReadOnly}
      data={roles.map(({ roleID, roleName }) => ({ value: roleID, label: roleName }))}
      value={value}
      error={fault}
      onChange={onChange}
    />
  );
}
