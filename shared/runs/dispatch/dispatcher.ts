import { setTimeout as sleep } from 'node:timers/promises';
import { Counter } from '../../core/counter.ts';
import type { Logger } from '../../core/logger.ts';
import type { Pool } from '../../db/pool.ts';
import { createEndIsolated } from '../end-isolated.ts';
import type { Ending } from '../end-tree.ts';
import { DISPATCH, type DispatchRow, HAS_QUEUED } from './fair-dispatch.ts';

/** A run whose row says that it is dispatched, before its job is added. */
export interface DispatchedRun {
  id: string;
  tenantID: string;
  class: string;
  epoch: number;
  priority: number;
}

interface EndsRuns {
  end(ending: Ending): Promise<unknown>;
  wake(ids: readonly string[]): Promise<void>;
}

interface Dependencies {
  /** See `createDispatchPool`. */
  pool: Pool;
  addJobs(dispatched: readonly DispatchedRun[]): Promise<void>;
  runs: EndsRuns;
  logger: Logger;
}

/** How often one call dispatches again because a dispatch found more to do, or because it left queues unvisited. */
const MAX_ROUNDS = 50;
const MAX_UNVISITED = 4;
/** Retries while another process dispatches: it may have read the queue before the runs of this process were in it. */
const MAX_WAITS = 3;
const WAIT_MS = 5;
/** Runs that cannot be dispatched directly are dispatched together after this time. */
const SOON_MS = 2;

/** Runs by the outcome of their dispatch, for metrics. */
export type DispatchCounts = Counter<'outcome'>;

export interface Dispatcher {
  /** Dispatches READY runs until the window is full; one process at a time. Returns their number. */
  dispatch(): Promise<number>;
  /** Schedules a dispatch in a moment; all calls until then share it. */
  dispatchSoon(): void;
  readonly counts: DispatchCounts;
}

/** Dispatches READY runs while the window has capacity, and ends those whose key is at its limit and which shall not wait for it. */
export function createDispatcher({ pool, addJobs, runs, logger }: Dependencies): Dispatcher {
  const counts: DispatchCounts = new Counter();
  const endIsolated = createEndIsolated(runs, logger);
  let running: Promise<number> | undefined;
  let next: Promise<number> | undefined;
  let soon: NodeJS.Timeout | undefined;

  /** All calls during a dispatch share the next one, which sees their runs. */
  function dispatch(): Promise<number> {
    if (!running) return begin();
    next ??= running
      .catch(() => 0)
      .then(() => {
        next = undefined;
        return begin();
      });
    return next;
  }

  function begin(): Promise<number> {
    const own = dispatchAll().finally(() => {
      if (running === own) running = undefined;
    });
    running = own;
    return own;
  }

  async function dispatchAll(): Promise<number> {
    const left = { rounds: MAX_ROUNDS, unvisited: MAX_UNVISITED, waits: MAX_WAITS };
    let count = 0;
    for (;;) {
      const { dispatched, again } = await dispatchOnce();
      count += dispatched;
      if (!again || left[again] === 0) return count;
      left[again] -= 1;
      if (again === 'waits') await sleep(WAIT_MS);
    }
  }

  /** Dispatches once; returns the reason to dispatch again, if any. */
  async function dispatchOnce(): Promise<{ dispatched: number; again: NextReason | null }> {
    const queued = await pool.query<{ waits: boolean }>({ name: 'has_queued_runs', text: HAS_QUEUED });
    if (!queued.rows[0]?.waits) return { dispatched: 0, again: null };
    const { rows } = await pool.query<DispatchRow>({ name: 'dispatch_runs', text: DISPATCH });
    const dispatched = rows.filter(({ outcome }) => outcome === 'dispatched').map(toDispatchedRun);
    for (const { outcome } of rows) {
      const label = LABELS[outcome];
      if (label) counts.add({ outcome: label });
    }
    // Committed above: a job is added only for a row that says so. If this add fails, the sweep adds it again.
    if (dispatched.length > 0) await addJobs(dispatched);
    const ended = await endRefused(rows);
    return {
      dispatched: dispatched.length,
      again: ended ? 'rounds' : nextReasonOf(new Set(rows.map(({ outcome }) => outcome))),
    };
  }

  /**
   * Ends the runs that the limit of their concurrency key refuses. The next dispatch finds those again that could not be ended. Returns
   * whether any was ended.
   */
  async function endRefused(rows: readonly DispatchRow[]): Promise<boolean> {
    const refusals = rows.flatMap((row) => {
      const refusal = refusalOf(row);
      return refusal && row.id ? [{ id: row.id, refusal }] : [];
    });
    const notEnded = new Set<string>();
    for (const [first, ...others] of Map.groupBy(refusals, ({ refusal }) => JSON.stringify(refusal)).values()) {
      if (!first) continue;
      for (const id of await endIsolated([first.id, ...others.map(({ id }) => id)], first.refusal)) notEnded.add(id);
    }
    const ended = refusals.flatMap(({ id }) => (notEnded.has(id) ? [] : [id]));
    if (ended.length === 0) return false;
    const { rows: parents } = await pool.query<{ id: string }>(PARENTS, [ended]);
    if (parents.length > 0) await runs.wake(parents.map(({ id }) => id));
    return true;
  }

  return {
    dispatch,
    dispatchSoon() {
      if (soon) return;
      soon = setTimeout(() => {
        soon = undefined;
        dispatch().catch((error) => logger.debug({ err: error }, 'dispatch is left to the sweep'));
      }, SOON_MS).unref();
    },
    counts,
  };
}

type NextReason = 'rounds' | 'unvisited' | 'waits';

function nextReasonOf(found: ReadonlySet<DispatchRow['outcome']>): NextReason | null {
  if (found.has('lock-busy')) return 'waits';
  if (found.has('partial')) return 'rounds';
  return found.has('unvisited') ? 'unvisited' : null;
}

/** Labels of the metric by outcome. They are published, so they keep their names. */
const LABELS: Partial<Record<DispatchRow['outcome'], string>> = {
  dispatched: 'admitted',
  dropped: 'dropped',
  failed: 'failed',
  superseded: 'superseded',
  old: 'old',
};

function toDispatchedRun({ id, tenant_id, class: runClass, epoch, priority }: DispatchRow): DispatchedRun {
  return { id: id ?? '', tenantID: tenant_id ?? '', class: runClass ?? '', epoch: epoch ?? 0, priority: priority ?? 0 };
}

/** Status and error with which a run is ended because of the limit of its key; undefined for other outcomes. */
function refusalOf({ outcome, concurrency_key: stored, max }: DispatchRow) {
  const key = JSON.stringify(shownKey(stored ?? ''));
  const others = max === 1 ? 'another run' : `${max} other runs`;
  const error = (code: string, message: string) => ({ code, message, nodeID: null, attempt: null });
  switch (outcome) {
    case 'dropped':
      return {
        status: 'CANCELLED' as const,
        error: error('CONCURRENCY_LIMIT', `Dropped, because ${others} with the key ${key} had not ended`),
      };
    case 'failed':
      return {
        status: 'FAILED' as const,
        error: error('CONCURRENCY_LIMIT', `Refused, because ${others} with the key ${key} had not ended`),
      };
    case 'superseded':
    case 'old':
      return {
        status: 'CANCELLED' as const,
        error: error('SUPERSEDED', `Cancelled for a newer run with the key ${key}`),
      };
    default:
      return undefined;
  }
}

/** A stored key without the workflow that it belongs to. */
export function shownKey(stored: string): string {
  return stored.slice(stored.indexOf(':') + 1);
}

const PARENTS = `
select distinct p.id from workflow_instance i join workflow_instance p on p.id = i.parent_id
where i.id = any($1::uuid[]) and i.completed_at is not null and p.completed_at is null`;
