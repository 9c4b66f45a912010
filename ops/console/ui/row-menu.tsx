import { ActionIcon, Menu } from '@mantine/core';
import { type AssetName, type Permission, useMay } from '../client/may.ts';

interface RowAction {
  label: string;
  permission: Permission;
  /** Needs the permission on the whole type, not on the row. */
  isOfType?: true;
  onClick: () => void;
  isDangerous?: boolean;
}

interface Props {
  /** The title of the row. */
  of: string;
  on: AssetName;
  actions: readonly RowAction[];
}

/** Actions that the caller may do on one row of a list. */
export function RowMenu({ of, on, actions }: Props) {
  const may = useMay();
  if (!actions.some(({ permission }) => may(permission))) return null;
  return (
    <Menu position="bottom-end">
      <Menu.Target>
        <ActionIcon variant="default" aria-label={`Actions for ${of}`}>
          ⋯
        </ActionIcon>
      </Menu.Target>
      <Menu.Dropdown>
        <Items on={on} actions={actions} />
      </Menu.Dropdown>
    </Menu>
  );
}

/** Mounted when the menu opens: what may be done with one row is asked only then. */
function Items({ on, actions }: Omit<Props, 'of'>) {
  const may = useMay(on);
  const mayOnType = useMay(`${on.slice(0, on.indexOf(':'))}:*`);
  const allowed = actions.filter(({ permission, isOfType }) => (isOfType ? mayOnType : may)(permission));
  if (allowed.length === 0) return <Menu.Label>You may change nothing here.</Menu.Label>;
  return allowed.map(({ label, onClick, isDangerous = false }) => (
    <Menu.Item key={label} onClick={onClick} {...(isDangerous && { className: 'dangerous' })}>
      {label}
    </Menu.Item>
  ));
}
