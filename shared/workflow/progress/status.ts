import { z } from 'zod';

export const RunStatus = z.enum(['PENDING', 'RUNNING', 'WAITING', 'COMPLETED', 'FAILED', 'CANCELLED']);
export type RunStatus = z.infer<typeof RunStatus>;

export const NodeStatus = z.enum(['RUNNING', 'SUCCESS', 'FAILED', 'SUSPENDED', 'SKIPPED', 'CANCELLED']);
export type NodeStatus = z.infer<typeof NodeStatus>;

/** Whether a run in this status has ended for good. */
export function isTerminal(status: RunStatus): boolean {
  return status === 'COMPLETED' || status === 'FAILED' || status === 'CANCELLED';
}
