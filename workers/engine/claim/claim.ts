import { createBatcher } from '#shared/concurrency/batcher.ts';
import type { Pool } from '#shared/db/pool.ts';
import type { Claimable } from '#shared/messaging/queues/workflow-runs.ts';
import { READY_BY_ID } from '#shared/runs/dispatch/ready-runs.ts';
import type { ClaimRow } from '../state/claimed-row.ts';

export interface Claims {
  /** Claims a run. Claims of one round of the event loop share a statement. Null: the job is outdated, or another worker was faster. */
  claim(run: Claimable): Promise<ClaimRow | null>;
  /**
   * Claims one crash-suspected run for a process that owns nothing else, so that a crash of the process counts against this run. The creator is
   * picked at random; of the creator's runs, the one that has waited longest.
   */
  claimCrashSuspected(): Promise<ClaimRow | null>;
  readonly stats: ClaimStats;
}

/** Totals so far, for metrics. */
export interface ClaimStats {
  won: number;
  lost: number;
  failed: number;
  statements: number;
  seconds: number;
}

export function createClaims(pool: Pool, leaseID: () => string): Claims {
  const stats: ClaimStats = { won: 0, lost: 0, failed: 0, statements: 0, seconds: 0 };
  const claim = createBatcher(async (runs: Claimable[]) => {
    // Rows are locked in this order. A dispatch locks in the order of ids, so any other order could deadlock with it.
    const inOrder = runs.toSorted((a, b) => (a.instanceID < b.instanceID ? -1 : 1));
    const rows = await send(inOrder.length, {
      name: 'claim_runs',
      text: CLAIM,
      values: [leaseID(), inOrder.map(({ instanceID }) => instanceID), inOrder.map(({ epoch }) => epoch)],
    });
    const byID = new Map(rows.map((row) => [row.id, row]));
    return runs.map(({ instanceID, epoch }) => {
      const row = byID.get(instanceID);
      if (row?.epoch !== epoch) return null;
      // If two jobs have brought the same run, only the first of them gets it.
      byID.delete(instanceID);
      return row;
    });
  });

  async function send(requested: number, statement: Statement): Promise<ClaimRow[]> {
    const began = performance.now();
    stats.statements += 1;
    try {
      const { rows } = await pool.query<ClaimRow>(statement);
      stats.won += rows.length;
      stats.lost += requested - rows.length;
      return rows;
    } catch (error) {
      stats.failed += requested;
      throw error;
    } finally {
      stats.seconds += (performance.now() - began) / 1000;
    }
  }

  return {
    claim,
    stats,
    async claimCrashSuspected() {
      const rows = await send(1, { name: 'claim_suspect', text: CLAIM_CRASH_SUSPECTED, values: [leaseID()] });
      return rows[0] ?? null;
    },
  };
}

interface Statement {
  name: string;
  text: string;
  values: unknown[];
}

/** A run fails when the third worker is lost on it; see `failLost` of the sweep. */
export const MAX_CRASHES = 3;

/** Condition for a crash-suspected run: a READY run whose worker was lost, and which has not committed since. */
export const CRASH_SUSPECTED = `i.losses > 0 and i.losses < ${MAX_CRASHES} and i.ready_at is not null and i.held_by is null
  and (i.not_before is null or i.not_before <= now())`;

const CLAIMED = `
  status = 'RUNNING', held_by = $1::uuid, epoch = i.epoch + 1, ready_at = null, dispatched_at = null, wake_at = null, not_before = null,
  started_at = coalesce(started_at, now()), updated_at = now()`;

/** Bytes up to which a claim returns the input, as it is stored: compressed. The text usually has about five times as many. */
const LARGE_INPUT = 32_000;
/** Up to so many stored bytes the text is not measured. It has a hundred times as many at the most. */
const SHORT_INPUT = 2_000;

const IS_SMALL = `(pg_column_size(i.input) <= ${SHORT_INPUT}
  or pg_column_size(i.input) <= ${LARGE_INPUT} and length(i.input::text) <= ${100 * SHORT_INPUT})`;

const RETURNED = `
returning i.id, i.tenant_id, i.workflow_id, i.version_id, i.epoch, i.seq, i.wake_seq, i.losses, i.parent_id, i.map_id, i.depth, i.deadline_at, i.caller, i.test_mode, i.held_length,
  case when ${IS_SMALL} then i.input end as input`;

// A process of an earlier version may have dispatched a crash-suspected run; it is left to the quarantine.
const CLAIM = `
update workflow_instance i
set alone = false, ${CLAIMED}
from unnest($2::uuid[], $3::int[]) as job(id, epoch)
where i.id = job.id and i.epoch = job.epoch - 1 and i.losses = 0 and ${READY_BY_ID}${RETURNED}`;

const CREATOR = `(select creator_id from tenant where id = i.tenant_id)`;

const CLAIM_CRASH_SUSPECTED = `
with turn as (
  select creator from (select distinct ${CREATOR} as creator from workflow_instance i where ${CRASH_SUSPECTED}) waiting order by random() limit 1
),
next as (
  select i.id from workflow_instance i, turn where ${CRASH_SUSPECTED} and ${CREATOR} = turn.creator
  order by i.ready_at limit 1 for update of i skip locked
)
update workflow_instance i
set alone = true, ${CLAIMED}
from next where i.id = next.id${RETURNED}`;
