import { ManyPicker } from '../ui/picker.tsx';

interface Props {
  value: string[];
  onChange: (roleIDs: string[]) => void;
  fault: string | undefined;
  isReadOnly?: boolean;
}

export function RoleChoice({ value, onChange, fault, isReadOnly = false }: Props) {
  return (
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
  );
}
