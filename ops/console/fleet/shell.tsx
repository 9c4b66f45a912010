import { AppShell, Group, Text } from '@mantine/core';
import { Outlet } from '@tanstack/react-router';
import { lazy } from 'react';
import { Commands } from '../shell/commands.tsx';
import { SchemeSwitch } from '../shell/scheme.tsx';

const Palette = lazy(() => import('./palette.tsx').then(({ FleetPalette: one }) => ({ default: one })));

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
                <img src="/favicon.ico" alt="" width={24} height={24} />
                <Text fw={700} c="var(--mantine-color-text)">
                  Gantry fleet
                </Text>
              </Group>
            </a>
            <Group gap="xs" wrap="nowrap">
              <nav aria-label="The board">
                <a className="link" href="/">
                  Queues
                </a>
              </nav>
              <Commands palette={Palette} of="fleet" />
              <div className="wide">
                <SchemeSwitch />
              </div>
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
