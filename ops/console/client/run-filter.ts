import type { RunStatus } from './types.ts';

export const runStatuses = ['PENDING', 'RUNNING', 'WAITING', 'COMPLETED', 'FAILED', 'CANCELLED'] as const;
export const runOrigins = ['direct', 'workflow', 'cron', 'listener', 'appPage', 'test'] as const;
export const periods = { hour: 3_600_000, day: 86_400_000, week: 604_800_000 } as const;

export type RunOrigin = (typeof runOrigins)[number];
export type Period = keyof typeof periods;

/** The filter of a list of runs, as it stands in the address. */
export interface RunFilter {
  status?: RunStatus;
  workflowID?: string;
  origin?: RunOrigin;
  /** Accepted within this time before now. */
  since?: Period;
  /** In place of that, accepted at this time or later, and before the other one. */
  from?: string;
  to?: string;
  /** The id of a run or its end, a tag, or a part of a workflow's title. */
  search?: string;
  tag?: string;
  errorCode?: string;
  rerunOf?: string;
  root?: string;
  /** Runs that one request has made. */
  batch?: string;
  cursor?: string;
}

export function parseRunFilter(search: Record<string, unknown>): RunFilter {
  const texts = ['workflowID', 'search', 'tag', 'errorCode', 'rerunOf', 'root', 'batch', 'cursor'] as const;
  const found = texts.flatMap((name) => {
    const value = search[name];
    // The address of a router holds a text of digits as a number.
    return (typeof value === 'string' && value !== '') || typeof value === 'number' ? [[name, String(value)]] : [];
  });
  return {
    ...Object.fromEntries(found),
    ...pick('status', runStatuses, search),
    ...pick('origin', runOrigins, search),
    ...pick('since', Object.keys(periods), search),
    ...moment('from', search),
    ...moment('to', search),
  };
}

function pick(name: string, allowed: readonly string[], search: Record<string, unknown>): object {
  const value = allowed.find((one) => one === search[name]);
  return value === undefined ? {} : { [name]: value };
}

function moment(name: string, { [name]: value }: Record<string, unknown>): object {
  const at = typeof value === 'string' ? new Date(value) : undefined;
  return at && !Number.isNaN(at.getTime()) ? { [name]: at.toISOString() } : {};
}
