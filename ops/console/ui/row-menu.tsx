import { ActionIcon, Menu } from '@mantine/core';

export interface RowAction {
  label: string;
  onClick: () => void;
  isDangerous?: boolean;
}

/** What can be done with one row of a list. */
export function RowMenu({ of, actions }: { of: string; actions: readonly RowAction[] }) {
  if (actions.length === 0) return null;
  return (
    <Menu position="bottom-end">
      <Menu.Target>
        <ActionIcon variant="default" aria-label={`Actions for ${of}`}>
          ⋯
        </ActionIcon>
      </Menu.Target>
      <Menu.Dropdown>
        {actions.map(({ label, onClick, isDangerous = false }) => (
          <Menu.Item key={label} onClick={onClick} {...(isDangerous && { className: 'dangerous' })}>
            {label}
          </Menu.Item>
        ))}
      </Menu.Dropdown>
    </Menu>
  );
}
