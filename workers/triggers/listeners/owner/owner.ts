import { startPeriodicTask } from '#shared/concurrency/periodic-task.ts';
import { createSemaphore } from '#shared/concurrency/semaphore.ts';
import { toAppError } from '#shared/core/errors.ts';
import { isUnreadableSecret, type KeyRing } from '#shared/core/key-ring.ts';
import type { Logger } from '#shared/core/logger.ts';
import { looseObject } from '#shared/core/record.ts';
import type { Pool } from '#shared/db/pool.ts';
import { createCountedQuota } from '#shared/tenants/counted-quotas.ts';
import type { EventRecorder } from '#shared/triggers/listeners/event-recorder.ts';
import type { ListenerReader, ReadListener } from '#shared/triggers/listeners/listener-reader.ts';
import { orderBy } from '#shared/triggers/listeners/order-key.ts';
import { findListenerType } from '#shared/triggers/listeners/types/index.ts';
import type { OutboundServices } from '../../../datasources/connectors/outbound-services.ts';
import { sourceOf, sourceTypes } from '../sources/index.ts';
import { createCapacity } from './capacity.ts';
import { type ConnectedListener, cleanUpRemoteResources, remoteResourceOf, removeRemoteResource } from './cleanup.ts';
import { type Claimed, createLeases, type LeaseState, type OwnedListener, type Report } from './leases.ts';
import { createOwnerStats, type OwnerStats } from './metrics.ts';
import { createOwnLease } from './own-lease.ts';
import { createRecording } from './recording.ts';
import { type Runner, type RunnerNeeds, runListener } from './run-listener.ts';
import { shareOf } from './share.ts';

/** Fields that the configs of all types have. */
const Common = looseObject({ orderBy });

/** Listeners that a worker claims in one round. More would be owned long before they are read and connected. */
const CLAIMED_AT_ONCE = 100;
/** Connections that are being made at once: in all, and of one tenant, so that servers that do not answer delay no other tenant. */
const CONNECTING = { permits: 50, maxPerTenant: 5 };
/** A worker whose round takes longer is stuck: it no longer renews its lease, and other workers take its listeners. */
const MAX_ROUND_MS = 60_000;

interface Needs {
  pool: Pool;
  leasePool: Pool;
  services: OutboundServices;
  reader: ListenerReader;
  recorder: Pick<EventRecorder, 'record'>;
  secrets: KeyRing;
  leaseMs: number;
  logger: Logger;
}

export interface ListenerOwner extends AsyncDisposable {
  readonly stats: OwnerStats;
}

interface Running extends ConnectedListener {
  runner: Runner;
  /** Changes with what the connection depends on. */
  key: string;
}

interface Owned {
  /** Version of the tenant's listeners, when this one was read. */
  version: number;
  /** Undefined until the listener has been read. */
  running: Running | undefined;
  claimed: Claimed;
  state: LeaseState;
  /** Settles when the changes so far are done: changes of one listener are made one after another. */
  work: Promise<void>;
}

/**
 * Runs this worker's share of the listeners that have a connection. Each listener has one owner among all workers. An owner renews its
 * lease in every round; when it dies, its lease expires, and the other workers take over its listeners.
 */
export function createListenerOwner({
  pool,
  leasePool,
  services,
  reader,
  recorder,
  secrets,
  leaseMs,
  logger,
}: Needs): ListenerOwner {
  const leases = createLeases({ pool, leasePool, leaseMs, types: sourceTypes });
  const capacity = createCapacity();
  const quotas = {
    events: createCountedQuota(pool, 'listenerEvents'),
    bytes: createCountedQuota(pool, 'listenerEventBytes'),
  };
  const owned = new Map<string, Owned>();
  const stats = createOwnerStats({ owned: owned, capacity });
  /** Listeners that are not owned any more and are still being stopped. */
  const stopping = new Map<string, Promise<void>>();
  const reports = new Map<string, Report>();
  const lease = createOwnLease({ leases, leaseMs });
  const { untilValid: untilOwned } = lease;
  const stopped = new AbortController();
  let cleaningUp: Promise<unknown> | undefined;
  let roundBeganAt = performance.now();

  const needs: RunnerNeeds = {
    services,
    logger,
    connecting: createSemaphore(CONNECTING),
    recordingFor: (of) => createRecording({ recorder, capacity, ...quotas, untilOwned }, of),
    report,
  };

  function report(report: Report): void {
    const { listenerID, state } = report;
    reports.set(listenerID, report);
    if (state === 'reconnecting' || state === 'error') stats.ended += 1;
    const entry = owned.get(listenerID);
    if (entry) entry.state = state;
  }

  async function round(): Promise<void> {
    roundBeganAt = performance.now();
    const { ownerID, isLost, owned: ownedNow } = await lease.renew();
    if (isLost) return await abandon();
    await leases.endExpired();
    follow(ownedNow);
    await balance(ownerID);
    await flush(ownerID);
  }

  /**
   * Renews the lease during a long round. A round waits for connections to end, and for the servers of remote resources. If one of them
   * does not answer, the other listeners of this worker must not move to another worker.
   */
  async function renewMeanwhile(): Promise<void> {
    const inRound = performance.now() - roundBeganAt;
    if (lease.id && inRound > leaseMs / 3 && inRound < MAX_ROUND_MS) await lease.renew();
  }

  /** Stops all connections after the lease was lost. Remote resources stay, since other workers own the listeners now. */
  async function abandon(): Promise<void> {
    logger.warn({ owner: lease.id }, 'the lease of listeners was ended by another worker; a new one begins');
    lease.lose();
    const all = [...owned.values()];
    owned.clear();
    reports.clear();
    await Promise.all(
      all.map(async (entry) => {
        await entry.work;
        await entry.running?.runner.stop();
      }),
    );
  }

  /** Stops listeners that this worker does not own any more, and reads those again that have changed since the last round. */
  function follow(ownedNow: readonly OwnedListener[]): void {
    const known = new Map(ownedNow.map((entry) => [entry.listenerID, entry]));
    for (const [listenerID, entry] of owned) {
      const current = known.get(listenerID);
      if (!current) stopSoon(listenerID, entry);
      else if (current.version !== entry.version) {
        entry.version = current.version;
        queueChange(entry, () => renewRunner(entry));
      }
    }
  }

  function queueChange(entry: Owned, work: () => Promise<void>): void {
    entry.work = entry.work.then(work).catch((error: unknown) => {
      // No tenant has this version, so the next round reads the listener again.
      entry.version = -1;
      logger.warn({ err: error, listenerID: entry.claimed.listenerID }, 'a listener was not read');
    });
  }

  async function renewRunner(entry: Owned): Promise<void> {
    const { listenerID, tenantID } = entry.claimed;
    const before = entry.running;
    const read = await reader.byID(listenerID, tenantID);
    if (!read) return;
    // A config that was stored by an earlier version lacks newer fields.
    const config = Common.parse(findListenerType(read.type)?.config.parse(read.config));
    const options = openOptions(read, entry);
    if (!options) return;
    const listener = { ...read, config, options: options.opened };
    const key = JSON.stringify([listener.type, listener.datasourceID, listener.config, listener.options]);
    if (before?.key === key || owned.get(listenerID) !== entry) return;
    const source = await sourceOf(listener.type);
    if (before) {
      await before.runner.stop();
      entry.claimed.cursor = reports.get(listenerID)?.cursor ?? entry.claimed.cursor;
      if (remoteResourceOf(before, services) !== remoteResourceOf({ source, listener }, services))
        await removeRemoteResource(before, needs);
    }
    if (owned.get(listenerID) !== entry) return;
    const runner = runListener({ listener, source, cursor: entry.claimed.cursor }, needs);
    entry.running = { runner, listener, source, key };
  }

  /** Undefined if a secret cannot be opened. The listener then shows why; a change of its datasource brings the next attempt. */
  function openOptions(
    read: ReadListener,
    { claimed: { listenerID, cursor } }: Owned,
  ): { opened: unknown } | undefined {
    try {
      return { opened: read.options() };
    } catch (error) {
      if (!isUnreadableSecret(error)) throw error;
      report({ listenerID, state: 'error', retryCount: 0, lastError: toAppError(error).message, cursor });
      return undefined;
    }
  }

  function stopSoon(listenerID: string, entry: Owned): void {
    owned.delete(listenerID);
    reports.delete(listenerID);
    queueChange(entry, () => stopAndAllowCleanup(listenerID, entry));
    const { work } = entry;
    stopping.set(listenerID, work);
    void work.then(() => stopping.get(listenerID) === work && stopping.delete(listenerID));
  }

  /** Stops a listener that has no lease any more, because it was deleted or made inactive. */
  async function stopAndAllowCleanup(listenerID: string, { running }: Owned): Promise<void> {
    await running?.runner.stop();
    await leases.allowCleanup(listenerID);
  }

  async function balance(id: string): Promise<void> {
    const load = await leases.load();
    if (load.hasRemoteResources) cleaningUp ??= cleanUp();
    const share = shareOf(id, load);
    if (owned.size > share) return await release(id, [...owned.keys()].slice(share));
    if (owned.size === share) return;
    for (const claimed of await leases.claim(id, Math.min(share - owned.size, CLAIMED_AT_ONCE))) {
      const entry: Owned = {
        version: -1,
        running: undefined,
        claimed,
        state: 'connecting',
        work: stopping.get(claimed.listenerID) ?? Promise.resolve(),
      };
      owned.set(claimed.listenerID, entry);
      queueChange(entry, () => renewRunner(entry));
    }
  }

  async function cleanUp(): Promise<void> {
    const { signal } = stopped;
    await cleanUpRemoteResources({ pool, reader, secrets, services, signal, logger }).catch((error: unknown) =>
      logger.debug({ err: error }, 'the cleanup of remote resources is tried again'),
    );
    cleaningUp = undefined;
  }

  /** Stops listeners and then releases them, so that no other owner can connect them before. */
  async function release(id: string, listenerIDs: readonly string[]): Promise<void> {
    await Promise.all(
      listenerIDs.map(async (listenerID) => {
        const entry = owned.get(listenerID);
        owned.delete(listenerID);
        await entry?.work;
        await entry?.running?.runner.stop();
      }),
    );
    await flush(id);
    await leases.release(id, listenerIDs);
  }

  async function flush(id: string): Promise<void> {
    const due = [...reports.values()].sort((entry, other) => (entry.listenerID < other.listenerID ? -1 : 1));
    reports.clear();
    try {
      await leases.report(id, due);
    } catch (error) {
      // The reports are written in the next round, except for those of listeners that have reported again.
      for (const report of due) if (!reports.has(report.listenerID)) reports.set(report.listenerID, report);
      throw error;
    }
  }

  const everyMs = leaseMs / 6;
  const rounds = startPeriodicTask({ name: 'own listeners', everyMs, run: round }, logger);
  const meanwhile = startPeriodicTask({ name: 'renew the lease of listeners', everyMs, run: renewMeanwhile }, logger);

  return {
    stats,
    async [Symbol.asyncDispose]() {
      await rounds[Symbol.asyncDispose]();
      // Renews the lease until the last connection has ended.
      await using _ = meanwhile;
      stopped.abort();
      await cleaningUp;
      if (!lease.id) return;
      try {
        await release(lease.id, [...owned.keys()]);
        await leases.end(lease.id);
      } catch (error) {
        logger.debug({ err: error }, 'the lease of listeners is left to expire');
      }
    },
  };
}
