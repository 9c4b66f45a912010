import { CountMap } from '#shared/core/count-map.ts';

/** Capacity for events that have arrived in this process and are not recorded yet, in bytes. */
export interface Capacity {
  add(tenantID: string, bytes: number): void;
  remove(tenantID: string, bytes: number): void;
  /** Whether connections of the tenant are to read nothing more for now. */
  isFull(tenantID: string): boolean;
  /** Events of all tenants that are not recorded yet. */
  readonly unrecorded: { readonly events: number; readonly bytes: number };
  /** Resolves when the tenant has capacity, or when the signal is aborted. */
  wait(tenantID: string, signal: AbortSignal): Promise<void>;
}

export interface CapacityLimits {
  bytes: number;
  bytesPerTenant: number;
  /** A tenant with fewer unrecorded bytes may go on reading even while all tenants together have reached `bytes`. */
  bytesForEach: number;
}

const LIMITS: CapacityLimits = { bytes: 64_000_000, bytesPerTenant: 8_000_000, bytesForEach: 500_000 };

/** When recording is slow, only the connections of tenants that send much are paused. */
export function createCapacity({ bytes: max, bytesPerTenant, bytesForEach }: CapacityLimits = LIMITS): Capacity {
  const byTenant = new CountMap();
  const waiting = new Map<string, Set<() => void>>();
  let total = 0;
  let events = 0;

  function isFull(tenantID: string): boolean {
    const own = byTenant.of(tenantID);
    return own >= bytesPerTenant || (total >= max && own >= bytesForEach);
  }

  function count(tenantID: string, change: number): void {
    total += change;
    byTenant.add(tenantID, change);
  }

  function wake(): void {
    for (const [tenantID, resumes] of waiting) {
      if (isFull(tenantID)) continue;
      waiting.delete(tenantID);
      for (const resume of resumes) resume();
    }
  }

  return {
    get unrecorded() {
      return { events, bytes: total };
    },
    add(tenantID, bytes) {
      events += 1;
      count(tenantID, bytes);
    },
    remove(tenantID, bytes) {
      events -= 1;
      count(tenantID, -bytes);
      if (waiting.size > 0) wake();
    },
    isFull,
    async wait(tenantID, signal) {
      while (isFull(tenantID) && !signal.aborted) {
        const { promise, resolve } = Promise.withResolvers<void>();
        const resumes = waiting.get(tenantID) ?? new Set();
        waiting.set(tenantID, resumes.add(resolve));
        const stop = () => resolve();
        signal.addEventListener('abort', stop);
        await promise;
        signal.removeEventListener('abort', stop);
        resumes.delete(resolve);
      }
    },
  };
}
