import { AppShell, Group, Text } from '@mantine/core';
import { Outlet } from '@tanstack/react-router';

export function FleetShell() {
  return (
    <>
      <a className="skip" href="#content">
        Skip to the content
      </a>
      <AppShell header={{ height: 56 }} padding="md">
        <AppShell.Header>
          <Group h="100%" px="md" justify="space-between" wrap="nowrap" gap="xs">
            <a href="/fleet" className="link">
              <Group gap={6} wrap="nowrap">
                <img src="/console/icon.svg" alt="" width={24} height={24} />
                <Text fw={700} c="var(--mantine-color-text)">
                  Gantry fleet
                </Text>
              </Group>
            </a>
            <Group component="nav" gap="md" wrap="nowrap" aria-label="The board">
              <a className="link" href="/">
                Queues
              </a>
            </Group>
          </Group>
        </AppShell.Header>
        <AppShell.Main id="content" tabIndex={-1}>
          <Outlet />
        </AppShell.Main>
      </AppShell>
    </>
  );
}
