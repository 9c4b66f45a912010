import './graph.css';
import { Group } from '@mantine/core';
import type { ReactNode } from 'react';

/** A graph over the whole page: its tools above it, a list of its steps below it, and a panel over its right part. */
export function Workspace({ children }: { children: ReactNode }) {
  return <div className="studio">{children}</div>;
}

export function WorkspaceBar({ children }: { children: ReactNode }) {
  return (
    <Group className="studio-bar" justify="space-between" gap="xs">
      {children}
    </Group>
  );
}

interface PanelProps {
  label: string;
  /** Two values stand side by side in it. */
  isBroad?: boolean;
  children: ReactNode;
}

export function WorkspacePanel({ label, isBroad = false, children }: PanelProps) {
  return (
    <aside className={isBroad ? 'studio-panel broad' : 'studio-panel'} aria-label={label} tabIndex={-1}>
      {children}
    </aside>
  );
}

export function scrollPanelUp(): void {
  document.querySelector('.studio-panel')?.scrollTo(0, 0);
}

/** Goes from a step that is chosen to its panel, which may not be drawn yet. */
export function focusPanel(): void {
  requestAnimationFrame(() => document.querySelector<HTMLElement>('.studio-panel')?.focus());
}

/** Goes back from the panel to its step in the graph, or in the list that is shown in place of it. */
export function focusStep(id: string): void {
  const name = CSS.escape(id);
  document.querySelector<HTMLElement>(`.react-flow__node[data-id="${name}"], [data-step="${name}"]`)?.focus();
}

/** The pixels of the graph that the panel covers at the right. */
export function coveredWidth(): number {
  const panel = document.querySelector('.studio-panel');
  return panel && getComputedStyle(panel).position === 'absolute' ? panel.clientWidth : 0;
}
