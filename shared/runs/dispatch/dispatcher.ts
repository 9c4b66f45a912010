import { setTimeout as sleep } from 'node:timers/promises';
import { Tally } from '../../core/counter.ts';
import type { Logger } from '../../core/logger.ts';
import type { Pool } from '../../db/pool.ts';
import { createEndEach } from '../end-isolated.ts';
import type { Ending } from '../end-tree.ts';
import { ADMIT, type AdmissionRow, HAS_QUEUED } from './dispatch-sql.ts';

/** A run that has been handed over, before its job is added. */
export interface Admitted {
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
  addJobs(admitted: readonly Admitted[]): Promise<void>;
  runs: EndsRuns;
  logger: Logger;
}

/** Admissions of one call that go on because the ones before found more to do, or because other lines have not been visited. */
const MAX_ROUNDS = 50;
const MAX_FURTHER = 4;
/** When another process admits: what this one wants admitted may have come too late for that. */
const MAX_WAITS = 3;
const WAIT_MS = 5;
/** Runs that cannot be handed over at once are admitted together after this time. */
const SOON_MS = 2;

/** Admissions by what has become of runs, for metrics. */
export type Admissions = Tally<'outcome'>;

/** Hands over READY runs while the window has room, and ends those whose key has no place and shall not wait for one. */
export function createAdmission({ pool, addJobs, runs, logger }: Dependencies) {
  const counts: Admissions = new Tally();
  const endEach = createEndEach(runs, logger);
  let running: Promise<number> | undefined;
  let next: Promise<number> | undefined;
  let soon: NodeJS.Timeout | undefined;

  /** For all calls during an admission there is one more, which sees what they want admitted. */
  function admit(): Promise<number> {
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
    const own = admitNow().finally(() => {
      if (running === own) running = undefined;
    });
    running = own;
    return own;
  }

  async function admitNow(): Promise<number> {
    const left = { rounds: MAX_ROUNDS, further: MAX_FURTHER, waits: MAX_WAITS };
    let count = 0;
    for (;;) {
      const { admitted, goesOn } = await admitOnce();
      count += admitted;
      if (!goesOn || left[goesOn] === 0) return count;
      left[goesOn] -= 1;
      if (goesOn === 'waits') await sleep(WAIT_MS);
    }
  }

  /** Answers whether there is a reason for another one. */
  async function admitOnce(): Promise<{ admitted: number; goesOn: GoesOn | null }> {
    const queued = await pool.query<{ waits: boolean }>({ name: 'has_queued_runs', text: HAS_QUEUED });
    if (!queued.rows[0]?.waits) return { admitted: 0, goesOn: null };
    const { rows } = await pool.query<AdmissionRow>({ name: 'admit_runs', text: ADMIT });
    const admitted = rows.filter(({ what }) => what === 'admitted').map(toAdmitted);
    for (const { what } of rows) if (outcomes.has(what)) counts.add({ outcome: what });
    // Committed above: a job is added only for a row that says so. If this add fails, the sweep adds it again.
    if (admitted.length > 0) await addJobs(admitted);
    const ended = await endRefused(rows);
    return {
      admitted: admitted.length,
      goesOn: ended ? 'rounds' : reasonToGoOn(new Set(rows.map(({ what }) => what))),
    };
  }

  /** The next admission finds again what could not be ended. Answers whether any was. */
  async function endRefused(rows: readonly AdmissionRow[]): Promise<boolean> {
    const refusals = rows.flatMap((row) => {
      const refusal = refusalOf(row);
      return refusal && row.id ? [{ id: row.id, refusal }] : [];
    });
    const left = new Set<string>();
    for (const [first, ...others] of Map.groupBy(refusals, ({ refusal }) => JSON.stringify(refusal)).values()) {
      if (!first) continue;
      for (const id of await endEach([first.id, ...others.map(({ id }) => id)], first.refusal)) left.add(id);
    }
    const ended = refusals.flatMap(({ id }) => (left.has(id) ? [] : [id]));
    if (ended.length === 0) return false;
    const { rows: parents } = await pool.query<{ id: string }>(PARENTS, [ended]);
    if (parents.length > 0) await runs.wake(parents.map(({ id }) => id));
    return true;
  }

  return {
    admit,
    /** The runs of one moment are admitted together. */
    admitSoon() {
      if (soon) return;
      soon = setTimeout(() => {
        soon = undefined;
        admit().catch((error) => logger.debug({ err: error }, 'admission is left to the sweep'));
      }, SOON_MS).unref();
    },
    counts,
  };
}

type GoesOn = 'rounds' | 'further' | 'waits';

function reasonToGoOn(found: ReadonlySet<AdmissionRow['what']>): GoesOn | null {
  if (found.has('taken')) return 'waits';
  if (found.has('more')) return 'rounds';
  return found.has('further') ? 'further' : null;
}

const outcomes: ReadonlySet<string> = new Set(['admitted', 'dropped', 'failed', 'superseded', 'old']);

function toAdmitted({ id, tenant_id, class: of, epoch, priority }: AdmissionRow): Admitted {
  return { id: id ?? '', tenantID: tenant_id ?? '', class: of ?? '', epoch: epoch ?? 0, priority: priority ?? 0 };
}

/** How a run ends that its key has no place for. */
function refusalOf({ what, concurrency_key: stored, max }: AdmissionRow) {
  const key = JSON.stringify(shownKey(stored ?? ''));
  const others = max === 1 ? 'another run' : `${max} other runs`;
  const error = (code: string, message: string) => ({ code, message, nodeID: null, attempt: null });
  switch (what) {
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
