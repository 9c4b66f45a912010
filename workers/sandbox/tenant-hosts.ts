import type { HostProcess } from './host-process.ts';

/** The answer to a call of a tenant when no process serves two tenants. */
export type Choice =
  | { kind: 'run'; host: HostProcess }
  /** A process for the tenant is to be started. */
  | { kind: 'start' }
  /** An idle process of another tenant is to end, so that one for this tenant can start. */
  | { kind: 'replace'; host: HostProcess }
  /** Nothing can be done before the time is over, or before a process answers or ends. */
  | { kind: 'wait'; ms: number | null };

/** A process keeps its tenant for this long while others wait: starting one costs 0.2 s. */
const TENURE_MS = 1_000;

/** Chooses among the processes: a tenant's own, a new one, or that of a tenant that has been idle for longest. */
export function chooseHost(hosts: ReadonlySet<HostProcess>, tenantID: string, max: number): Choice {
  const own = [...hosts].filter(({ owner, isKilled }) => owner === tenantID && !isKilled);
  const idle = own.find(({ isFree, calls }) => isFree && calls.size === 0);
  if (idle) return { kind: 'run', host: idle };
  if (own.some(({ hasStarted }) => !hasStarted)) return { kind: 'wait', ms: null };
  if (hosts.size < max) return { kind: 'start' };
  // A second process is not taken from another tenant, and one that is being started is waited for.
  if (own.length > 0 || [...hosts].some(({ isKilled }) => isKilled)) return { kind: 'wait', ms: null };
  const [first] = [...hosts]
    .filter(({ isFree, calls }) => isFree && calls.size === 0)
    .sort((one, other) => one.ownedSince - other.ownedSince);
  if (!first) return { kind: 'wait', ms: null };
  const left = first.ownedSince + TENURE_MS - performance.now();
  return left > 0 ? { kind: 'wait', ms: left } : { kind: 'replace', host: first };
}
