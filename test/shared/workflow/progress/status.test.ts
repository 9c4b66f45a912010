import { expect, test } from 'vitest';
import { isTerminal, NodeStatus, RunStatus } from '#shared/workflow/progress/status.ts';

test('a run has ended when it is completed, failed or cancelled', () => {
  expect(RunStatus.options.filter(isTerminal)).toEqual(['COMPLETED', 'FAILED', 'CANCELLED']);
});

test('statuses are the words of the contract', () => {
  expect(RunStatus.options).toEqual(['PENDING', 'RUNNING', 'WAITING', 'COMPLETED', 'FAILED', 'CANCELLED']);
  expect(NodeStatus.options).toEqual(['RUNNING', 'SUCCESS', 'FAILED', 'SUSPENDED', 'SKIPPED', 'CANCELLED']);
});
