import '@mantine/core/styles/Tabs.css';
import { Tabs } from '@mantine/core';
import type { ReactNode } from 'react';
import { Status } from '../ui/status.tsx';
import type { StepResult } from './results.ts';

export type StepTab = 'settings' | 'result';

interface Props {
  tab: StepTab;
  onTab: (tab: StepTab) => void;
  result: StepResult | undefined;
  isOutdated: boolean;
  settings: ReactNode;
  children: ReactNode;
}

/** The settings of a step, or its result in the last test. */
export function StepTabs({ tab, onTab, result, isOutdated, settings, children }: Props) {
  return (
    <Tabs value={tab} onChange={(value) => onTab(value === 'result' ? 'result' : 'settings')} keepMounted={false}>
      <Tabs.List mb="sm">
        <Tabs.Tab value="settings">Settings</Tabs.Tab>
        <Tabs.Tab value="result">
          Result {result && !result.isCut && (isOutdated ? <Old /> : <Status of={result.steps.shown.status} />)}
        </Tabs.Tab>
      </Tabs.List>
      <Tabs.Panel value="settings">{settings}</Tabs.Panel>
      <Tabs.Panel value="result">{children}</Tabs.Panel>
    </Tabs>
  );
}

function Old() {
  return (
    <span className="status" data-tone="idle">
      Outdated
    </span>
  );
}
