import { newID } from '#shared/core/ids.ts';
import type { Leases, OwnerState } from './leases.ts';

/** The lease of the listener owner in this process. After it was lost, the next renewal begins another lease. */
export interface OwnLease {
  /** Id of the lease; undefined before it has begun, and after it was lost. */
  readonly id: string | undefined;
  renew(): Promise<OwnerState & { ownerID: string }>;
  lose(): void;
  /** Resolves as soon as the lease is certainly valid. Without a valid lease another worker may own the listeners. */
  untilValid(): Promise<void>;
}

export function createOwnLease({
  leases,
  leaseMs,
}: {
  leases: Pick<Leases, 'begin' | 'renew'>;
  leaseMs: number;
}): OwnLease {
  let id: string | undefined;
  /** Time of the renewal by two clocks: the monotonic one stands still while a machine is suspended. */
  let renewedAt: { monotonic: number; ofDay: number } | undefined;
  let renewal = Promise.withResolvers<void>();

  function isValid(): boolean {
    if (!renewedAt) return false;
    return performance.now() - renewedAt.monotonic < leaseMs && Date.now() - renewedAt.ofDay < leaseMs;
  }

  async function begin(): Promise<string> {
    const ownerID = newID();
    await leases.begin(ownerID);
    id = ownerID;
    return ownerID;
  }

  return {
    get id() {
      return id;
    },
    async renew() {
      const began = { monotonic: performance.now(), ofDay: Date.now() };
      const ownerID = id ?? (await begin());
      const state = await leases.renew(ownerID);
      if (!state.isLost && id === ownerID) {
        renewedAt = began;
        renewal.resolve();
        renewal = Promise.withResolvers();
      }
      return { ...state, ownerID };
    },
    lose() {
      id = undefined;
      renewedAt = undefined;
    },
    async untilValid() {
      while (!isValid()) await renewal.promise;
    },
  };
}
