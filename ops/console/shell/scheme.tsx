import { ActionIcon, Menu, useMantineColorScheme } from '@mantine/core';
import { Icon } from '../ui/icon.tsx';

export const schemes = [
  { scheme: 'light', title: 'Light', name: 'light' },
  { scheme: 'dark', title: 'Dark', name: 'dark' },
  { scheme: 'auto', title: 'As the system', name: 'of the system' },
] as const;

export function SchemeSwitch() {
  const { colorScheme, setColorScheme } = useMantineColorScheme();
  return (
    <Menu position="bottom-end">
      <Menu.Target>
        <ActionIcon variant="default" size="lg" aria-label="Colours">
          <Icon name={colorScheme === 'dark' ? 'moon' : 'sun'} />
        </ActionIcon>
      </Menu.Target>
      <Menu.Dropdown>
        {schemes.map(({ scheme, title }) => (
          <Menu.Item key={scheme} onClick={() => setColorScheme(scheme)} fw={scheme === colorScheme ? 700 : 400}>
            {title}
          </Menu.Item>
        ))}
      </Menu.Dropdown>
    </Menu>
  );
}
