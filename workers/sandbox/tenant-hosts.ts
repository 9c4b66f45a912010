import type { HostProcess } from './host-handle.ts';

/** Decision about a call, in a sandbox in which no process serves two tenants. */
export type Choice =
  | { kind: 'run'; host: HostProcess }
  /** A process for the tenant is to be started. */
  | { kind: 'start' }
  /** An idle process of another tenant is to end, so that one for this tenant can start. */
  | { kind: 'replace'; host: HostProcess }
  /** The call has to wait for `ms` or, if that is null, until a process answers or ends. */
  | { kind: 'wait'; ms: number | null };

/** Least time that a process serves its tenant while other tenants wait for a process, since starting one takes 0.2 s. */
const TENURE_MS = 1_000;

/** Chooses a process: one of the tenant, a new one, or the idle process that has served another tenant for longest. */
export function chooseHost(hosts: ReadonlySet<HostProcess>, tenantID: string, max: number): Choice {
  const own = [...hosts].filter(({ owner, isKilled }) => owner === tenantID && !isKilled);
  const idle = own.find(({ isFree, calls }) => isFree && calls.size === 0);
  if (idle) return { kind: 'run', host: idle };
  if (own.some(({ hasStarted }) => !hasStarted)) return { kind: 'wait', ms: null };
  if (hosts.size < max) return { kind: 'start' };
  // A tenant that has a process takes none from another tenant. A killed process makes room when it has ended.
  if (own.length > 0 || [...hosts].some(({ isKilled }) => isKilled)) return { kind: 'wait', ms: null };
  const [longestOwned] = [...hosts]
    .filter(({ isFree, calls }) => isFree && calls.size === 0)
    .sort((one, other) => one.ownedSince - other.ownedSince);
  if (!longestOwned) return { kind: 'wait', ms: null };
  const remainingMs = longestOwned.ownedSince + TENURE_MS - performance.now();
  return remainingMs > 0 ? { kind: 'wait', ms: remainingMs } : { kind: 'replace', host: longestOwned };
}
