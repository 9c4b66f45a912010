import type { Pool } from '#shared/db/pool.ts';
import { accountFor } from '#shared/runs/accounting.ts';
import { expected, GROUPS, type Group, groupOf, type PlannedRun, type Shape } from './program.ts';
import { COUNTERS } from './steps.ts';

/** A run that the API has acknowledged. */
export interface Acknowledged {
  id: string;
  run: PlannedRun;
  /** The status in the response to a cancel. */
  statusAtCancel?: string;
  /** It repeats another run from its last node. */
  isRest?: boolean;
}

/** A time in which a workflow was paused for certain, or all were: between the answer to the pause and the request that ended it. */
export interface Paused {
  workflowID: string | null;
  from: Date;
  to: Date;
}

/** Runs that have not ended, with what the database knows of each. */
export async function openRuns(pool: Pool): Promise<string[]> {
  const { rows } = await pool.query<{ line: string }>(
    `select format('%s %s: epoch %s, seq %s, losses %s, hand-backs %s, ready %s, kept %s, handed over %s, wakes at %s, held by %s, parent %s, waits for %s',
       i.id, i.status, i.epoch, i.seq, i.losses, i.hand_backs, i.ready_at, i.kept_since, i.dispatched_at, i.wake_at,
       case when i.held_by is null then 'none' when s.ended_at is null and s.expires_at > now() then 'a live lease' else 'a dead lease' end,
       i.parent_id, (select string_agg(w.kind || ' at ' || w.node_id, ', ') from run_wait w where w.instance_id = i.id)) as line
     from workflow_instance i left join worker_session s on s.id = i.held_by
     where i.completed_at is null order by i.id`,
  );
  return rows.map(({ line }) => line);
}

export interface EndState {
  shapes: readonly Shape[];
  acknowledged: readonly Acknowledged[];
  counters: Record<Group, readonly number[]>;
  /** The workflow that is started for each run that fails. */
  handlerID: string;
  /** Workflows whose runs are not acknowledged to a client: they are judged elsewhere. */
  others?: readonly string[];
  pauses?: readonly Paused[];
}

interface Row {
  id: string;
  parent_id: string | null;
  map_id: string | null;
  workflow_id: string;
  status: string;
  output: { value?: unknown } | null;
  error: { message: string } | null;
}

/** Compares the end state with what the program says. Answers the differences, in words. */
export async function judge(pool: Pool, state: EndState): Promise<string[]> {
  const { shapes, acknowledged, counters, handlerID, others = [], pauses = [] } = state;
  const { rows } = await pool.query<Row>(
    'select id, parent_id, map_id, workflow_id, status, output, error from workflow_instance where not coalesce(workflow_id = any($1::uuid[]), false)',
    [others],
  );
  const byID = new Map(rows.map((row) => [row.id, row]));
  const differences = acknowledged.flatMap((one) => [...compareRun(one, byID.get(one.id), expected(shapes, one.run))]);
  if (new Set(acknowledged.map(({ id }) => id)).size !== acknowledged.length)
    differences.push('two requests got one run');
  const [certain, cancelled] = GROUPS.map((group) => sumOf(shapes, acknowledged, group)) as [Sum, Sum];
  const handlers = rows.filter(({ workflow_id }) => workflow_id === handlerID).length;
  const roots = rows.filter(({ parent_id }) => parent_id === null).length - handlers;
  const children = rows.filter(({ parent_id, map_id }) => parent_id !== null && map_id === null).length;
  const failed = rows.filter(({ status, parent_id }) => status === 'FAILED' && parent_id === null).length;
  return [
    ...differences,
    ...compare('runs', roots, { min: acknowledged.length }),
    ...compare('runs that handle a failure', handlers, { min: failed }),
    ...compare('children', children, { min: certain.children, max: certain.children + cancelled.children }),
    ...certain.added.flatMap((right, at) => compare(`counter ${at}`, counters.certain[at], { min: right })),
    ...cancelled.added.flatMap((max, at) =>
      compare(`counter ${at} of runs that were cancelled`, counters.cancelled[at], { min: 0, max }),
    ),
    ...(await begunAmidPauses(pool, pauses)),
    ...(await ledger(pool)),
  ];
}

interface Sum {
  added: number[];
  children: number;
}

/** The sum that the runs of a group add together. */
function sumOf(shapes: readonly Shape[], acknowledged: readonly Acknowledged[], group: Group): Sum {
  const added = Array.from({ length: COUNTERS }, () => 0);
  let children = 0;
  for (const { run, isRest } of acknowledged) {
    if (isRest || groupOf(run) !== group) continue;
    const own = expected(shapes, run);
    children += own.children;
    for (const [at, amount] of own.added.entries()) added[at] = (added[at] ?? 0) + amount;
  }
  return { added, children };
}

function compare(what: string, found = 0, { min, max = min }: { min: number; max?: number }): string[] {
  if (found >= min && found <= max) return [];
  return [`${what}: ${found} instead of ${min === max ? min : `${min} to ${max}`}`];
}

function* compareRun(
  { id, run, statusAtCancel }: Acknowledged,
  row: Row | undefined,
  { value, fails }: Pick<ReturnType<typeof expected>, 'value' | 'fails'>,
): Generator<string> {
  if (!row) return yield `run ${id} was acknowledged and is not there`;
  if (statusAtCancel === 'CANCELLED' || (run.fate.kind === 'cancel' && row.status === 'CANCELLED')) {
    if (row.status !== 'CANCELLED') yield `run ${id} was cancelled and is ${row.status}`;
    return;
  }
  const isRight = fails
    ? row.status === 'FAILED' && row.error?.message === 'As planned'
    : row.status === 'COMPLETED' && row.error === null;
  if (!isRight) yield `run ${id} is ${row.status}: ${JSON.stringify(row.error)}`;
  else if (row.output?.value !== value) yield `run ${id} answered ${JSON.stringify(row.output)}, not ${value}`;
}

/** Runs from outside that came during a pause and began in it. */
async function begunAmidPauses(pool: Pool, pauses: readonly Paused[]): Promise<string[]> {
  const begun = await Promise.all(
    pauses.map(({ workflowID, from, to }) =>
      pool.query<{ line: string }>(
        `select format('run %s, which came at %s, began at %s, amid a pause from %s to %s', id, created_at, started_at, $2::timestamptz, $3::timestamptz) as line
         from workflow_instance where ($1::uuid is null or workflow_id = $1) and parent_id is null
           and greatest(created_at, start_at) > $2::timestamptz and started_at < $3::timestamptz`,
        [workflowID, from, to],
      ),
    ),
  );
  return begun.flatMap(({ rows }) => rows.map(({ line }) => line));
}

/** Hours whose runs or events have not all ended, by the accounting that tenants read. */
async function ledger(pool: Pool): Promise<string[]> {
  const day = 86_400_000;
  const { runs, events } = await accountFor(pool, { from: new Date(Date.now() - day), to: new Date(Date.now() + day) });
  const open = [
    ...runs.filter(({ difference, inFlight }) => difference !== 0 || inFlight !== 0),
    ...events.filter(({ difference, pending }) => difference !== 0 || pending !== 0),
  ];
  return open.map((hour) => `the ledger says ${JSON.stringify(hour)}`);
}
