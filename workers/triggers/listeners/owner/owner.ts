import { z } from 'zod';
import { keep } from '#shared/concurrency/periodic-task.ts';
import { createLane } from '#shared/concurrency/semaphore.ts';
import type { KeyRing } from '#shared/core/key-ring.ts';
import type { Logger } from '#shared/core/logger.ts';
import type { Pool } from '#shared/db/pool.ts';
import { createCountedQuota } from '#shared/tenants/counted-quotas.ts';
import type { EventRecorder } from '#shared/triggers/listeners/event-recorder.ts';
import type { ListenerReader } from '#shared/triggers/listeners/listener-reader.ts';
import { orderBy } from '#shared/triggers/listeners/order-key.ts';
import { findListenerType } from '#shared/triggers/listeners/types/index.ts';
import type { Reach } from '../../../datasources/connectors/outbound-services.ts';
import { sourceOf, sourceTypes } from '../sources/index.ts';
import { createRoom } from './capacity.ts';
import { clearResidues, type Place, removeResidue, residueOf } from './cleanup.ts';
import { type Claimed, createLeases, type HeldListener, type LeaseState, type Report } from './leases.ts';
import { createOwnerStats, type OwnerStats } from './metrics.ts';
import { createOwnLease } from './own-lease.ts';
import { createRecording } from './recording.ts';
import { type Runner, type RunnerNeeds, runListener } from './run-listener.ts';
import { shareOf } from './share.ts';

/** What the configs of all types have. */
const Common = z.looseObject({ orderBy });

/** Listeners that a worker takes in one round, so that it reads and connects them in turn. */
const CLAIMED_AT_ONCE = 100;
/** Connections that are being made at once; of one tenant, so that servers that do not answer hold up no other tenant. */
const CONNECTING = { places: 50, maxPerTenant: 5 };
/** A worker whose round takes longer is stuck: others are to have its listeners. */
const MAX_ROUND_MS = 60_000;

interface Needs {
  pool: Pool;
  leasePool: Pool;
  reach: Reach;
  reader: ListenerReader;
  recorder: Pick<EventRecorder, 'record'>;
  secrets: KeyRing;
  leaseMs: number;
  logger: Logger;
}

export interface ListenerOwner extends AsyncDisposable {
  readonly stats: OwnerStats;
}

interface Running extends Place {
  runner: Runner;
  /** Changes with what the connection depends on. */
  key: string;
}

interface Held {
  /** Of the tenant's listeners, when this one was read. */
  version: number;
  /** Undefined until it is read, and while its worker code cannot read it. */
  running: Running | undefined;
  claimed: Claimed;
  state: LeaseState;
  /** One change after another. */
  work: Promise<void>;
}

/**
 * Keeps this worker's part of the listeners that have a connection. Each of them has one owner over the fleet. An owner renews its lease
 * with every round; when it dies, its lease ends and the others share its listeners.
 */
export function createListenerOwner({
  pool,
  leasePool,
  reach,
  reader,
  recorder,
  secrets,
  leaseMs,
  logger,
}: Needs): ListenerOwner {
  const leases = createLeases({ pool, leasePool, leaseMs, types: sourceTypes });
  const room = createRoom();
  const quotas = {
    events: createCountedQuota(pool, 'listenerEvents'),
    bytes: createCountedQuota(pool, 'listenerEventBytes'),
  };
  const held = new Map<string, Held>();
  const stats = createOwnerStats({ held, room });
  /** Of listeners that have left and are still being stopped. */
  const leaving = new Map<string, Promise<void>>();
  const reports = new Map<string, Report>();
  const lease = createOwnLease({ leases, leaseMs });
  const { untilValid: untilOwned } = lease;
  const stopped = new AbortController();
  let clearing: Promise<unknown> | undefined;
  let roundBeganAt = performance.now();

  const needs: RunnerNeeds = {
    reach,
    logger,
    connecting: createLane(CONNECTING),
    recordingFor: (of) => createRecording({ recorder, room, ...quotas, untilOwned }, of),
    report,
  };

  function report(report: Report): void {
    const { listenerID, state } = report;
    reports.set(listenerID, report);
    if (state === 'reconnecting' || state === 'error') stats.ended += 1;
    const one = held.get(listenerID);
    if (one) one.state = state;
  }

  async function round(): Promise<void> {
    roundBeganAt = performance.now();
    const { ownerID, isLost, held: now } = await lease.renew();
    if (isLost) return await abandon();
    await leases.endExpired();
    follow(now);
    await balance(ownerID);
    await flush(ownerID);
  }

  /**
   * Renews the lease while a round takes longer. A round waits for connections that end, and for servers from which something is removed:
   * one that does not answer must not move all other listeners of this worker.
   */
  async function renewMeanwhile(): Promise<void> {
    const inRound = performance.now() - roundBeganAt;
    if (lease.id && inRound > leaseMs / 3 && inRound < MAX_ROUND_MS) await lease.renew();
  }

  /** Others have the listeners: what was left at servers is theirs. */
  async function abandon(): Promise<void> {
    logger.warn({ owner: lease.id }, 'the lease of listeners was ended by another worker; a new one begins');
    lease.lose();
    const all = [...held.values()];
    held.clear();
    reports.clear();
    await Promise.all(
      all.map(async (one) => {
        await one.work;
        await one.running?.runner.stop();
      }),
    );
  }

  /** Acts on what has changed since the last round. */
  function follow(now: readonly HeldListener[]): void {
    const known = new Map(now.map((one) => [one.listenerID, one]));
    for (const [listenerID, one] of held) {
      const current = known.get(listenerID);
      if (!current) leaveSoon(listenerID, one);
      else if (current.version !== one.version) {
        one.version = current.version;
        after(one, () => renewRunner(one));
      }
    }
  }

  function after(one: Held, work: () => Promise<void>): void {
    one.work = one.work.then(work).catch((error: unknown) => {
      // The next round tries again.
      one.version = -1;
      logger.warn({ err: error, listenerID: one.claimed.listenerID }, 'a listener was not read');
    });
  }

  async function renewRunner(one: Held): Promise<void> {
    const { listenerID, tenantID } = one.claimed;
    const before = one.running;
    const read = await reader.byID(listenerID, tenantID);
    if (!read) return;
    // What was stored by an earlier version lacks newer fields.
    const config = Common.parse(findListenerType(read.type)?.config.parse(read.config));
    const listener = { ...read, config };
    const key = JSON.stringify([listener.type, listener.datasourceID, listener.config, listener.options]);
    if (before?.key === key || held.get(listenerID) !== one) return;
    const source = await sourceOf(listener.type);
    if (before) {
      await before.runner.stop();
      one.claimed.cursor = reports.get(listenerID)?.cursor ?? one.claimed.cursor;
      if (residueOf(before, reach) !== residueOf({ source, listener }, reach)) await removeResidue(before, needs);
    }
    if (held.get(listenerID) !== one) return;
    const runner = runListener({ listener, source, cursor: one.claimed.cursor }, needs);
    one.running = { runner, listener, source, key };
  }

  function leaveSoon(listenerID: string, one: Held): void {
    held.delete(listenerID);
    reports.delete(listenerID);
    after(one, () => leave(listenerID, one));
    const { work } = one;
    leaving.set(listenerID, work);
    void work.then(() => leaving.get(listenerID) === work && leaving.delete(listenerID));
  }

  /** The listener is deleted or inactive, unless it was made active again meanwhile. */
  async function leave(listenerID: string, { running }: Held): Promise<void> {
    await running?.runner.stop();
    await leases.noteLeft(listenerID);
  }

  async function balance(id: string): Promise<void> {
    const load = await leases.load();
    if (load.hasResidues) clearing ??= clear();
    const share = shareOf(id, load);
    if (held.size > share) return await release(id, [...held.keys()].slice(share));
    if (held.size === share) return;
    for (const claimed of await leases.claim(id, Math.min(share - held.size, CLAIMED_AT_ONCE))) {
      const one: Held = {
        version: -1,
        running: undefined,
        claimed,
        state: 'connecting',
        work: leaving.get(claimed.listenerID) ?? Promise.resolve(),
      };
      held.set(claimed.listenerID, one);
      after(one, () => renewRunner(one));
    }
  }

  async function clear(): Promise<void> {
    const { signal } = stopped;
    await clearResidues({ pool, reader, secrets, reach, signal, logger }).catch((error: unknown) =>
      logger.debug({ err: error }, 'what listeners have left is tried again'),
    );
    clearing = undefined;
  }

  /** Stops before another owner can begin. */
  async function release(id: string, listenerIDs: readonly string[]): Promise<void> {
    await Promise.all(
      listenerIDs.map(async (listenerID) => {
        const one = held.get(listenerID);
        held.delete(listenerID);
        await one?.work;
        await one?.running?.runner.stop();
      }),
    );
    await flush(id);
    await leases.release(id, listenerIDs);
  }

  async function flush(id: string): Promise<void> {
    const due = [...reports.values()].sort((one, other) => (one.listenerID < other.listenerID ? -1 : 1));
    reports.clear();
    try {
      await leases.report(id, due);
    } catch (error) {
      // A newer one of the same listener stays.
      for (const report of due) if (!reports.has(report.listenerID)) reports.set(report.listenerID, report);
      throw error;
    }
  }

  const everyMs = leaseMs / 6;
  const rounds = keep({ name: 'own listeners', everyMs, run: round }, logger);
  const meanwhile = keep({ name: 'renew the lease of listeners', everyMs, run: renewMeanwhile }, logger);

  return {
    stats,
    async [Symbol.asyncDispose]() {
      await rounds[Symbol.asyncDispose]();
      // Until the last connection has ended.
      await using _ = meanwhile;
      stopped.abort();
      await clearing;
      if (!lease.id) return;
      try {
        await release(lease.id, [...held.keys()]);
        await leases.end(lease.id);
      } catch (error) {
        logger.debug({ err: error }, 'the lease of listeners is left to expire');
      }
    },
  };
}
