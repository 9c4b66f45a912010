import { currentReservation } from '#shared/concurrency/work-context.ts';
import type { Json } from '#shared/core/json.ts';
import type { Pool } from '#shared/db/pool.ts';
import type { WorkflowInstance } from '#shared/entities/tables/workflow-instance.ts';
import { changedPaths, type Path, type PathBudget, partOf, pathBudget } from '#shared/workflow/graph/changed-paths.ts';
import type { IterationPath } from '#shared/workflow/progress/iteration-path.ts';
import type { ShownError } from '#shared/workflow/run-error.ts';

/** A value that differs. Without `from` or `to` it is only in the other run. */
interface Change {
  path: Path;
  from?: Json;
  to?: Json;
  /** Characters of the JSON text of a value that is too long to be shown. */
  fromLength?: number;
  toLength?: number;
}

interface Ended {
  status: string;
  exit: string | null;
  error: ShownError | null;
}

interface NodeDiff {
  nodeID: string;
  frame: IterationPath;
  state: 'same' | 'changed' | 'refused' | 'onlyBefore' | 'onlyAfter' | 'notCompared';
  before: Ended | null;
  after: Ended | null;
  refusedWrite?: string;
  changes: Change[];
}

export interface RunsDiff {
  nodes: NodeDiff[];
  /** Whether a run has more outcomes of nodes than are compared; the further ones are left out. */
  isCut: boolean;
  /** Differences between the outputs of the runs themselves. */
  output: Change[];
}

type Compared = Pick<WorkflowInstance, 'id' | 'output'>;

/** Outcomes of nodes of one run, in the order in which they ended. */
const MAX_OUTCOMES = 500;
/** Bytes of the outputs of one run that Postgres hashes to compare them. */
const MAX_HASHED = 64 * 1024 ** 2;
/** Bytes of a pair of outputs that is read, and of all pairs that are read. */
const MAX_OUTPUT = 256 * 1024;
const MAX_READ = 2 * 1024 ** 2;
/** Characters of a value that is shown, and of all values that are shown. */
const MAX_VALUE = 2_000;
const MAX_SHOWN = 500_000;

/**
 * How a run of a workflow differs from an earlier one: the last outcome of each node and each of its iterations. Postgres compares the
 * outputs; only those that differ are read, as far as their sizes allow.
 */
export async function compareRuns(pool: Pool, before: Compared, after: Compared): Promise<RunsDiff> {
  const [old, next] = [await readOutcomes(pool, before.id), await readOutcomes(pool, after.id)];
  const pairs = pairsOf(old, next);
  const isChanged = ({ before: one, after: other }: Pair) => one && other && one.hash !== other.hash && !other.refused;
  const read = await readOutputs(pool, { before, after }, pairs.filter(isChanged));
  const show = createShow();
  const nodes = pairs.map((pair) => diffOf(pair, read.get(pair), show));
  const output = show.changes(before.output ?? null, after.output ?? null);
  return { nodes, isCut: old.isCut || next.isCut, output };
}

interface Outcome extends Ended {
  nodeID: string;
  frame: IterationPath | null;
  seq: number;
  refused: string | null;
  /** The hash of the output; null: it is too large to be compared. */
  hash: string | null;
  length: number;
}

interface Outcomes {
  outcomes: Outcome[];
  isCut: boolean;
}

async function readOutcomes(pool: Pool, instanceID: string): Promise<Outcomes> {
  const values = [instanceID, MAX_OUTCOMES + 1, MAX_HASHED];
  const { rows } = await pool.query<Outcome>({ name: 'outcomes_of_run', text: OUTCOMES, values });
  return { outcomes: rows.slice(0, MAX_OUTCOMES), isCut: rows.length > MAX_OUTCOMES };
}

/** The last outcome of each node in each frame. The `brief` of an event has the length of a large output. */
const OUTCOMES = `
with latest as materialized (
  select distinct on (node_id, frame) seq from run_event
  where instance_id = $1 and node_id is not null and status in ('SUCCESS', 'FAILED', 'SKIPPED', 'CANCELLED')
  order by node_id, frame, seq desc
),
chosen as materialized (select seq from latest order by seq limit $2),
sized as (
  select e.*, coalesce((brief -> 'large' ->> 'length')::bigint, octet_length((payload -> 'output')::text), 0) as length
  from run_event e where instance_id = $1 and seq in (select seq from chosen)
),
summed as (select *, sum(length) over (order by seq rows unbounded preceding) as total from sized)
select seq, node_id as "nodeID", frame, status, exit, length::int, coalesce(brief, payload) -> 'error' as error,
  coalesce(brief, payload) ->> 'refusedWrite' as refused,
  case when total <= $3 then encode(sha256(convert_to(coalesce((payload -> 'output')::text, ''), 'UTF8')), 'base64') end as hash
from summed order by seq`;

interface Pair {
  before: Outcome | undefined;
  after: Outcome | undefined;
}

/**
 * Pairs of the order of the later run, then those of the earlier run only. An outcome that may have its pair in the
 * cut part is left out.
 */
function pairsOf(old: Outcomes, next: Outcomes): Pair[] {
  const keyOf = ({ nodeID, frame }: Outcome) => JSON.stringify([nodeID, frame ?? []]);
  const earlier = new Map(old.outcomes.map((outcome) => [keyOf(outcome), outcome]));
  const later = new Set(next.outcomes.map(keyOf));
  const both = next.outcomes.map((after) => ({ before: earlier.get(keyOf(after)), after }));
  const removed = old.outcomes.filter((outcome) => !later.has(keyOf(outcome)));
  return [
    ...both.filter(({ before }) => before || !old.isCut),
    ...(next.isCut ? [] : removed.map((before) => ({ before, after: undefined }))),
  ];
}

interface Read {
  before: Json;
  after: Json;
}

/** Reads the outputs of as many pairs as the limits allow. */
async function readOutputs(
  pool: Pool,
  { before, after }: { before: Compared; after: Compared },
  pairs: readonly Pair[],
): Promise<ReadonlyMap<Pair, Read>> {
  let total = 0;
  const chosen = pairs.flatMap((pair) => {
    const length = (pair.before?.length ?? 0) + (pair.after?.length ?? 0);
    if (length > MAX_OUTPUT || total + length > MAX_READ) return [];
    total += length;
    return [pair];
  });
  // Twice the bytes: for the outputs as read, and as written into the answer.
  await currentReservation()?.reserve(2 * total);
  const old = await outputsOf(
    pool,
    before.id,
    chosen.map((pair) => pair.before?.seq ?? 0),
  );
  const next = await outputsOf(
    pool,
    after.id,
    chosen.map((pair) => pair.after?.seq ?? 0),
  );
  return new Map(
    chosen.map((pair) => [
      pair,
      { before: old.get(pair.before?.seq ?? 0) ?? null, after: next.get(pair.after?.seq ?? 0) ?? null },
    ]),
  );
}

async function outputsOf(pool: Pool, instanceID: string, seqs: readonly number[]): Promise<Map<number, Json>> {
  if (seqs.length === 0) return new Map();
  const { rows } = await pool.query<{ seq: number; output: Json }>(OUTPUTS, [instanceID, seqs]);
  return new Map(rows.map(({ seq, output }) => [seq, output]));
}

const OUTPUTS = `select seq, payload -> 'output' as output from run_event where instance_id = $1 and seq = any($2::bigint[])`;

function diffOf({ before, after }: Pair, read: Read | undefined, show: Show): NodeDiff {
  const { nodeID = '', frame = null } = after ?? before ?? {};
  const diff = { nodeID, frame: frame ?? [], before: endedOf(before), after: endedOf(after), changes: [] };
  if (!after) return { ...diff, state: 'onlyBefore' };
  const refused = after.refused === null ? {} : { refusedWrite: after.refused };
  if (after.refused !== null) return { ...diff, ...refused, state: 'refused' };
  if (!before) return { ...diff, state: 'onlyAfter' };
  if (read) {
    const changes = show.changes(read.before, read.after).filter(({ path }) => !isTimeOfEnd(after, path));
    return { ...diff, ...stateOf(before, after, changes) };
  }
  if (before.hash === null || after.hash === null) return { ...diff, state: 'notCompared' };
  return before.hash === after.hash
    ? { ...diff, ...stateOf(before, after, []) }
    : { ...diff, state: 'changed', changes: [{ path: [], fromLength: before.length, toLength: after.length }] };
}

/**
 * Whether a change is only the time at which an end was reached: end nodes, which have no exit, write it into their
 * output.
 */
function isTimeOfEnd({ exit }: Outcome, path: Path): boolean {
  return exit === null && path.length === 1 && path[0] === 'completedAt';
}

function stateOf(before: Outcome, after: Outcome, changes: Change[]): Pick<NodeDiff, 'state' | 'changes'> {
  const isSame =
    changes.length === 0 &&
    before.status === after.status &&
    before.exit === after.exit &&
    before.error?.code === after.error?.code &&
    before.error?.message === after.error?.message;
  return { state: isSame ? 'same' : 'changed', changes };
}

function endedOf(outcome: Outcome | undefined): Ended | null {
  return outcome ? { status: outcome.status, exit: outcome.exit, error: outcome.error } : null;
}

interface Show {
  changes(before: Json, after: Json): Change[];
}

function createShow(): Show {
  const budget: PathBudget = pathBudget();
  let remaining = MAX_SHOWN;

  function shown<Name extends 'from' | 'to'>(name: Name, value: Json | undefined): Partial<Change> {
    if (value === undefined) return {};
    const { length } = JSON.stringify(value);
    if (length > MAX_VALUE || length > remaining) return { [`${name}Length`]: length };
    remaining -= length;
    return { [name]: value };
  }

  return {
    changes: (before, after) =>
      changedPaths(before, after, budget).map((path) => ({
        path,
        ...shown('from', valueIn(before, path)),
        ...shown('to', valueIn(after, path)),
      })),
  };
}

function valueIn(value: Json, path: Path): Json | undefined {
  return path.reduce<Json | undefined>((inner, key) => partOf(inner, key), value);
}
