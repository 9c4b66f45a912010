import type { Sample } from '#shared/core/metrics.ts';
import type { Pool } from '#shared/db/pool.ts';

/** Runs that one statement reads; more if several have the same deadline as the last one. */
const SLICE = 5_000;
/** Time for slices at one scrape. */
const BUDGET_MS = 50;
/** Scrapes of several systems at the same time get the same count. */
const FRESH_MS = 1_000;
/** READY and owned runs are counted at each scrape up to this number. */
const MAX_EXACT = 5_000;

type Counts = Map<string, { state: string; class: string; n: number }>;

/**
 * Counts the runs that have not ended, without a scan of all of them: a scrape reads slices in the order of deadlines for 50 ms, and the
 * next one continues. Some ten thousand runs are counted completely at each scrape. Of a million, the READY and the owned runs are counted
 * at each scrape if they are few; the other numbers are those of the last complete pass.
 */
export function createRunCount(pool: Pool): () => Promise<Sample[]> {
  let pass: Counts = new Map();
  let cursor = '-infinity';
  let complete: Counts | undefined;
  let last: Promise<Sample[]> | undefined;
  let freshUntil = 0;

  /** Reads slices until the pass is complete or the time is up. */
  async function continuePass(): Promise<Counts | undefined> {
    const isWhole = cursor === '-infinity';
    for (const until = performance.now() + BUDGET_MS; performance.now() < until; ) {
      const { rows } = await pool.query<SliceRow>({ name: 'count_runs', text: COUNT_SLICE, values: [cursor, SLICE] });
      add(pass, rows);
      const read = rows.reduce((sum, { n }) => sum + n, 0);
      if (read >= SLICE) {
        cursor =
          rows
            .map(({ upto }) => upto)
            .toSorted()
            .at(-1) ?? cursor;
        continue;
      }
      complete = pass;
      pass = new Map();
      cursor = '-infinity';
      return isWhole ? complete : undefined;
    }
    return undefined;
  }

  async function count(): Promise<Sample[]> {
    const whole = await continuePass();
    if (whole) return samplesOf(whole);
    const { rows } = await pool.query<CountRow>({ name: 'count_busy_runs', text: COUNT_BUSY, values: [MAX_EXACT + 1] });
    // Before the first pass is complete, the runs that it has found so far.
    const counts: Counts = new Map(complete ?? pass);
    for (const state of ['held', 'ready']) {
      const ofState = rows.filter((row) => row.state === state);
      if (ofState.reduce((sum, { n }) => sum + n, 0) > MAX_EXACT) continue;
      for (const [key, counted] of counts) if (counted.state === state) counts.delete(key);
      add(counts, ofState);
    }
    return samplesOf(counts);
  }

  return () => {
    if (last && performance.now() < freshUntil) return last;
    freshUntil = performance.now() + FRESH_MS;
    last = count();
    last.catch(() => {
      last = undefined;
    });
    return last;
  };
}

interface CountRow {
  state: string;
  class: string;
  n: number;
}

interface SliceRow extends CountRow {
  /** The furthest deadline, as text of a fixed form: a date of JavaScript has no microseconds. */
  upto: string;
}

function add(counts: Counts, rows: readonly CountRow[]): void {
  for (const { state, class: kind, n } of rows) {
    const key = `${state} ${kind}`;
    counts.set(key, { state, class: kind, n: n + (counts.get(key)?.n ?? 0) });
  }
}

function samplesOf(counts: Counts): Sample[] {
  return [...counts.values()].map(({ state, class: kind, n }) => ({ labels: { state, class: kind }, value: n }));
}

const COUNT_SLICE = `
select case when held_by is not null then 'held' when ready_at is not null then 'ready' when kept_since is not null then 'paused' else 'waiting' end as state, class, count(*)::int as n,
  to_char(max(deadline_at) at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') as upto
from (
  select held_by, ready_at, kept_since, class, deadline_at from workflow_instance
  where completed_at is null and deadline_at > $1::timestamptz order by deadline_at fetch first ($2::int) rows with ties
) slice
group by 1, 2`;

const COUNT_BUSY = `
select 'held' as state, class, count(*)::int as n
from (select class from workflow_instance where held_by is not null limit $1::int) held group by class
union all
select 'ready', class, count(*)::int
from (select class from workflow_instance where ready_at is not null and held_by is null limit $1::int) ready group by class`;
