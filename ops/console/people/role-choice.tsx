import { MultiSelect, Text } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
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
  const [isOpen, opened] = useDisclosure(false);
  const descriptions = new Map(roles.map(({ roleID, roleDescription }) => [roleID, roleDescription]));
  return (
    <MultiSelect
      label="Roles"
      placeholder={value.length === 0 ? 'None' : ''}
      searchable
      disabled={isReadOnly}
      data={roles.map(({ roleID, roleName }) => ({ value: roleID, label: roleName }))}
      renderOption={({ option }) => (
        <div>
          <bdi>{option.label}</bdi>
          <Text size="xs" className="breaks">
            <bdi>{descriptions.get(option.value)}</bdi>
          </Text>
        </div>
      )}
      value={value}
      error={fault}
      dropdownOpened={isOpen}
      onDropdownOpen={opened.open}
      onDropdownClose={opened.close}
      onChange={(roleIDs) => {
        // The list would cover the button of the form.
        opened.close();
        onChange(roleIDs);
      }}
    />
  );
}
