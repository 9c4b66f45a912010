import { idAt } from '#shared/core/ids.ts';
import type { Pool } from '#shared/db/pool.ts';

const HOUR_MS = 3_600_000;
const HOURS = 24;
interface HourRange {
  /** Rows that one statement reads. */
  slice: number;
  /** Statements of one reading: after a start of the process the earlier hours are counted by the next readings. */
  statements: number;
}
const HOUR_RANGE: HourRange = { slice: 20_000, statements: 10 };
/** Runs newer than this are not counted yet, because their transactions may not have committed. */
const SETTLED_MS = 30_000;

/** Counts of one hour, whenever the runs were accepted. */
export interface HourRow {
  hour: Date;
  accepted: number;
  completed: number;
  failed: number;
  cancelled: number;
  /** Whether the hour is not counted to its end yet. */
  isCut: boolean;
}

/**
 * Counts the runs of the last 24 hours, the newest hours first. Each run is looked at once when it was accepted and once when it has
 * ended, however often this is asked: what has been counted stays counted.
 */
export function createHourCounts(
  pool: Pool,
  { slice, statements: most }: HourRange = HOUR_RANGE,
): () => Promise<HourRow[]> {
  let known: readonly CountedHour[] = [];
  let reading: Promise<HourRow[]> | undefined;

  async function read(): Promise<HourRow[]> {
    const until = Date.now() - SETTLED_MS;
    known = hoursBefore(until).map((hour) => known.find((one) => one.hour === hour) ?? newHour(hour));
    let remaining = most;
    for (const counted of known)
      for (const walk of counted.walks)
        for (; walk.countedTo < endOf(counted, until) && remaining > 0; remaining -= 1)
          await count(pool, { counted, walk, end: endOf(counted, until), slice });
    return known.map((counted) => rowOf(counted, until)).toReversed();
  }

  // Two at once would count the same runs twice.
  return () => {
    reading ??= read().finally(() => {
      reading = undefined;
    });
    return reading;
  };
}

const nothing = { accepted: 0, completed: 0, failed: 0, cancelled: 0 };
type Counts = typeof nothing;

/** How far the runs of an hour are counted, in the order in which they were accepted or ended. */
interface Walk {
  kind: 'accepted' | 'ended';
  countedTo: number;
  /** The last run that was counted. */
  after: { time: string; id: string };
}

interface CountedHour {
  hour: number;
  counts: Counts;
  walks: readonly Walk[];
}

function hoursBefore(until: number): number[] {
  const last = Math.floor(until / HOUR_MS) * HOUR_MS;
  return Array.from({ length: HOURS }, (_, n) => last - n * HOUR_MS);
}

function newHour(hour: number): CountedHour {
  const begin = { countedTo: hour, after: { time: new Date(hour).toISOString(), id: idAt(hour) } };
  return {
    hour,
    counts: nothing,
    walks: [
      { kind: 'accepted', ...begin },
      { kind: 'ended', ...begin, after: { ...begin.after, id: idAt(0) } },
    ],
  };
}

function endOf({ hour }: CountedHour, until: number): number {
  return Math.min(hour + HOUR_MS, until);
}

function rowOf(counted: CountedHour, until: number): HourRow {
  const { hour, counts, walks } = counted;
  const isCut = walks.some(({ countedTo }) => countedTo < endOf(counted, until));
  return { hour: new Date(hour), ...counts, isCut };
}

type Slice = Counts & { seen: number; lastTime: string | null; lastID: string | null };

interface Step {
  counted: CountedHour;
  walk: Walk;
  end: number;
  slice: number;
}

async function count(pool: Pool, { counted, walk, end, slice: limit }: Step): Promise<void> {
  const { sql, values } = statements[walk.kind];
  const [slice] = (await pool.query<Slice>(sql, [...values(walk.after, end), limit])).rows;
  if (!slice) return;
  const { counts } = counted;
  counted.counts = {
    accepted: counts.accepted + slice.accepted,
    completed: counts.completed + slice.completed,
    failed: counts.failed + slice.failed,
    cancelled: counts.cancelled + slice.cancelled,
  };
  if (slice.lastTime !== null && slice.lastID !== null) walk.after = { time: slice.lastTime, id: slice.lastID };
  if (slice.seen < limit) walk.countedTo = end;
}

const statements = {
  // The id tells when the run was accepted.
  accepted: {
    sql: `
select count(*)::int as seen, count(*) filter (where map_id is null)::int as accepted, 0 as completed, 0 as failed, 0 as cancelled,
  max(id::text) as "lastID", max(created_at)::text as "lastTime"
from (
  select id, map_id, created_at from workflow_instance where id > $1::uuid and id < $2::uuid order by id limit $3
) slice`,
    values: ({ id }: Walk['after'], end: number) => [id, idAt(end)],
  },
  ended: {
    sql: `
select count(*)::int as seen, 0 as accepted,
  ${['COMPLETED', 'FAILED', 'CANCELLED']
    .map((one) => `count(*) filter (where map_id is null and status = '${one}')::int as ${one.toLowerCase()}`)
    .join(', ')},
  (array_agg(id order by completed_at desc, id desc))[1] as "lastID", max(completed_at)::text as "lastTime"
from (
  select id, map_id, status, completed_at from workflow_instance
  where completed_at is not null and completed_at >= $1::timestamptz and (completed_at, id) > ($1::timestamptz, $2::uuid)
    and completed_at < $3::timestamptz
  order by completed_at, id limit $4
) slice`,
    values: ({ time, id }: Walk['after'], end: number) => [time, id, new Date(end)],
  },
} satisfies Record<Walk['kind'], { sql: string; values: (after: Walk['after'], end: number) => unknown[] }>;
