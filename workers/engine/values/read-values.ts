import { parseJSON } from '#shared/concurrency/parse-json.ts';
import { type RetryOptions, retryUntilAvailable } from '#shared/concurrency/retry-until-available.ts';
import { currentReservation } from '#shared/concurrency/work-context.ts';
import { AppError } from '#shared/core/errors.ts';
import type { Json, JsonObject } from '#shared/core/json.ts';
import type { Pool } from '#shared/db/pool.ts';
import type { Activation } from '#shared/workflow/progress/progress.ts';
import { ERROR_AROUND_KEY, ERROR_KEY } from '#shared/workflow/run-error.ts';
import type { Run } from '../state/run.ts';
import { type Keys, type Missing, withoutOffloaded } from '../state/scopes.ts';
import type { Source } from '../state/source.ts';
import { keysInBody, keysInConfig, namedKeys } from './named-keys.ts';
import type { ResidentValues } from './resident-values.ts';

interface Reading {
  pool: Pool;
  values: Pick<ResidentValues, 'retain'>;
}

/** Whether the values that the config of an activation names are resident. */
export function isResident({ state }: Run, activation: Activation): boolean {
  if (!state.hasOffloaded) return true;
  return state.missing(activation, keysInConfig(activation.node)).every(([, { value }]) => value !== undefined);
}

/** The `ctx` for an activation whose values are resident. */
export function residentScope({ state }: Run, activation: Activation): JsonObject {
  const missing = state.missing(activation, keysInConfig(activation.node));
  return fill(state.scopeOf(activation), missing, new Map(missing.map(([, source]) => [source, source.value ?? null])));
}

/** The `ctx` for an activation, with the values that its node may name; offloaded ones are read from their rows. */
export async function readScope(reading: Reading, run: Run, { activation, waiting }: Asked): Promise<JsonObject> {
  return readKeys(reading, run, { activation, waiting, keys: await namedKeys(activation.node) });
}

/** The `ctx` around the body of a map, for the runs of its chunks: without offloaded values that the body does not name. */
export async function readScopeOfBody(reading: Reading, run: Run, { activation, waiting }: Asked): Promise<JsonObject> {
  const { graph } = run.version;
  const keys = await keysInBody(graph, activation.node.body ?? -1);
  const error = run.state.errorBefore(activation);
  const scope = withoutOffloaded(await readKeys(reading, run, { activation, waiting, keys }));
  if (error === undefined) return scope;
  // The error is passed under a key of its own: in the body it is not a value that a node has set, and a failure there replaces it.
  const { [ERROR_KEY]: _, ...values } = scope;
  return { ...values, [ERROR_AROUND_KEY]: error };
}

interface Asked {
  activation: Activation;
  waiting: RetryOptions;
}

/** The `ctx` for an activation with these keys of it. */
export async function readKeys(reading: Reading, run: Run, { activation, waiting, keys }: Asked & { keys: Keys }) {
  // Both are taken before the first await, because other branches go on during it.
  const scope = run.state.scopeOf(activation);
  const missing = run.state.missing(activation, keys);
  const values = new Map<Source, Json>();
  for (const source of new Set(missing.map(([, missingSource]) => missingSource)))
    values.set(source, await valueFor(reading, run, { source, waiting }));
  return fill(scope, missing, values);
}

async function valueFor(
  { pool, values }: Reading,
  run: Run,
  { source, waiting }: { source: Source; waiting: RetryOptions },
): Promise<Json> {
  if (source.value === undefined) {
    await currentReservation()?.reserve(source.length);
    const value = await retryUntilAvailable(() => read(pool, run.id, source), waiting);
    source.value ??= value;
  }
  const { value } = source;
  values.retain(run, source);
  return value ?? null;
}

/** Reads a single value, because Postgres and this process have the text of each value in memory. */
async function read(pool: Pool, instanceID: string, { seq, large }: Source): Promise<Json> {
  const { rows } = await pool.query<{ value: string }>({
    name: 'read_value',
    text: VALUE,
    values: [instanceID, seq, large?.name],
  });
  const [row] = rows;
  if (!row) throw new AppError('NODE_FAILED', 'A result of an earlier node no longer exists', { retry: false });
  // Safe: what is stored is JSON. A key that the output does not have is null.
  return (await parseJSON(row.value ?? 'null')) as Json;
}

function fill(scope: JsonObject, missing: readonly Missing[], values: ReadonlyMap<Source, Json>): JsonObject {
  if (missing.length === 0) return scope;
  const filled = { ...scope };
  for (const [key, source] of missing) filled[key] = partOf(values.get(source) ?? null, key, source);
  return filled;
}

/** The value of a key: the whole value of the output or, if its kind also sets the keys of the value, the part of this key. */
function partOf(value: Json, key: string, { large }: Source): Json {
  if (key === large?.name || typeof value !== 'object' || value === null || Array.isArray(value)) return value;
  return value[key] ?? null;
}

export const VALUE = `select (payload -> 'output' -> $3::text)::text as value from run_event where instance_id = $1 and seq = $2`;
