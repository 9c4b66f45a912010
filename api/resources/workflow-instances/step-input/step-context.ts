import { AppError } from '#shared/core/errors.ts';
import { isJsonObject, type Json, type JsonObject } from '#shared/core/json.ts';
import type { Pool } from '#shared/db/pool.ts';
import type { WorkflowInstance } from '#shared/entities/tables/workflow-instance.ts';
import type { CheckedNode } from '#shared/workflow/graph/check-node.ts';
import { nodesBefore } from '#shared/workflow/graph/nodes-before.ts';
import type { AnyNode } from '#shared/workflow/nodes/index.ts';
import { isSpread } from '#shared/workflow/nodes/properties.ts';
import { type IterationPath, innermost } from '#shared/workflow/progress/iteration-path.ts';
import { contextPatch } from '#shared/workflow/resolve-config.ts';
import { ERROR_AROUND_KEY, ERROR_KEY, passedError } from '#shared/workflow/run-error.ts';
import type { KnownContext } from './fill-settings.ts';
import {
  findOutputs,
  findPassed,
  findRange,
  findRepetition,
  type Item,
  type Layer,
  type OutputRow,
  type Repetition,
  readChunkItem,
  readItem,
  readMapScope,
  readValue,
} from './step-events.ts';

/** The most characters of JSON text that are read at once: of all outputs together, of an item, or of the scope of a map. */
const MAX_READ = 1024 * 1024;
/** Bytes of all values of a response together. */
export const MAX_SHOWN = 2 * MAX_READ;

/** A key of `ctx` that is left out. */
export interface Omitted {
  key: string;
  /**
   * The node that has set the key, and the number of its event; null for an input, an item, and a value from around a
   * map.
   */
  nodeID: string | null;
  seq: number | null;
  /** The length of the value's JSON text, or of the output that contains it; null if not known. */
  length: number | null;
  preview: string | null;
}

export interface StepContext extends KnownContext {
  /** The values that have room in an answer. */
  shown: JsonObject;
  omitted: Omitted[];
  /** Whether outputs that are left out may have set keys that are not named. */
  mayLackKeys: boolean;
}

interface StepPosition {
  frame: IterationPath;
  /** The last event whose output the step saw. */
  until: number;
  nodeID: string;
  /** Nodes of the version of the run, by their ids. */
  nodes: ReadonlyMap<string, CheckedNode>;
  /** Sources of the edges into each node of the same version. */
  sources: ReadonlyMap<string, readonly string[]>;
  /** Keys that the templates of the node name: they are read first. */
  wanted: ReadonlySet<string>;
}

/** A key of `ctx`: its value, or what is known instead of it. */
interface Entry extends Omit<Omitted, 'key'> {
  value?: Json | undefined;
  /** The key of the output that contains the value, if the value must be read from its row. */
  name?: string;
}

type Entries = Map<string, Entry>;
type Run = Pick<WorkflowInstance, 'id' | 'input' | 'mapID'>;

/**
 * Reads the `ctx` that templates and code of a step saw, from the events of the run. An iteration begins with a copy of what is around it, and
 * sees nothing that is set there later; what it sets does not show outside.
 */
export async function readStepContext(
  pool: Pool,
  run: Run,
  { frame, until, nodeID, nodes, sources, wanted }: StepPosition,
): Promise<StepContext> {
  const layers = await findLayers(pool, run, { frame, until });
  const entries = await outermost(pool, run);
  const nodeIDs = [...nodes].flatMap(([id, { config }]) => (nameOf(config) === null ? [] : [id]));
  const rows = await findOutputs(pool, run.id, { layers, nodeIDs, maxLength: MAX_READ });
  // The scope of a deleted map is not known.
  let mayLackKeys = entries.size === 0;
  for (const [at, { given }] of layers.entries()) {
    for (const [key, entry] of given) entries.set(key, entry);
    for (const row of rows) {
      const node = row.layer === at ? nodes.get(row.nodeID) : undefined;
      if (node?.definition) mayLackKeys = !add(entries, { ...node, definition: node.definition }, row) || mayLackKeys;
    }
  }
  await addError(pool, run.id, entries, { layers, nodeID, sources });
  const { shown, values } = await choose(pool, run.id, entries, wanted);
  return {
    values,
    shown,
    omitted: [...entries].flatMap(([key, { nodeID, seq, length, preview }]) =>
      Object.hasOwn(shown, key) ? [] : [{ key, nodeID, seq, length, preview }],
    ),
    mayLackKeys,
    isMissing(key) {
      if (key === undefined) return mayLackKeys || entries.size > Object.keys(values).length;
      return !Object.hasOwn(values, key) && (mayLackKeys || entries.has(key));
    },
  };
}

function nameOf(config: unknown): string | null {
  const name = isJsonObject(config) ? config.outputVariable : undefined;
  return typeof name === 'string' ? name : null;
}

/**
 * The frames around a step, outermost first: each with the values that it began with, and the last event that the frame
 * inside of it saw.
 */
async function findLayers(
  pool: Pool,
  run: Run,
  { frame, until }: Pick<StepPosition, 'frame' | 'until'>,
): Promise<(Layer & { given: Entries })[]> {
  const layers: (Layer & { given: Entries })[] = [];
  let given: Entries = new Map();
  for (const [depth, { nodeID }] of frame.entries()) {
    const path = frame.slice(0, depth + 1);
    const around = frame.slice(0, depth);
    const repetition = await findRepetition(pool, run.id, { nodeID, frame: around, before: until + 1 });
    if (!repetition) throw new AppError('NOT_FOUND', 'The beginning of this iteration is not recorded');
    const begun = await findIteration(pool, run, path, { ...repetition, until });
    layers.push({ frame: around, until: begun.after, given });
    ({ given } = begun);
  }
  return [...layers, { frame, until, given }];
}

/** The values that an iteration began with, and the last event of the frame around it whose output it saw. */
async function findIteration(
  pool: Pool,
  run: Run,
  path: IterationPath,
  { seq, repeat, until }: Repetition & { until: number },
): Promise<{ given: Entries; after: number }> {
  const index = innermost(path);
  const isOfChunk = Boolean(run.mapID) && path.length === 1;
  const chunk = isOfChunk ? await readChunkItem(pool, run.id, { index, maxLength: MAX_READ }) : undefined;
  const item = isOfChunk ? chunk : await readItem(pool, run.id, { seq, index, maxLength: MAX_READ });
  const given: Entries = new Map([
    [repeat.itemVariable, item ? givenAs(item) : unknown],
    [repeat.indexVariable, givenAs({ value: index, length: String(index).length, isHere: true })],
  ]);
  if (index === (chunk?.first ?? 0)) return { given, after: seq };
  const { before, began } = await findRange(pool, run.id, path);
  // Without a pause an iteration begins as the one before it ends; with a pause other branches may have gone on meanwhile.
  const after = repeat.delayMs === 0 ? before : began && began - 1;
  return { given, after: after ?? until };
}

const unknown: Entry = { nodeID: null, seq: null, length: null, preview: null };

function givenAs({ value, length, isHere }: Item): Entry {
  return { ...unknown, length, value: isHere ? value : undefined };
}

/**
 * Sets the key of errors to the error of the last node that failed before the step and after which the run went on,
 * unless a node has set it.
 */
async function addError(
  pool: Pool,
  instanceID: string,
  entries: Entries,
  { layers, nodeID, sources }: Pick<StepPosition, 'nodeID' | 'sources'> & { layers: readonly Layer[] },
): Promise<void> {
  const around = entries.get(ERROR_AROUND_KEY);
  entries.delete(ERROR_AROUND_KEY);
  if (entries.has(ERROR_KEY)) return;
  const error = await findError(pool, instanceID, { layers, nodeID, sources });
  if (error ?? around) entries.set(ERROR_KEY, error ?? around ?? unknown);
}

/** Finds the failure in the innermost frame first: failures around it happened earlier. */
async function findError(
  pool: Pool,
  instanceID: string,
  { layers, nodeID, sources }: Pick<StepPosition, 'nodeID' | 'sources'> & { layers: readonly Layer[] },
): Promise<Entry | undefined> {
  const frame = layers.at(-1)?.frame ?? [];
  for (const [depth, layer] of [...layers.entries()].reverse()) {
    const nodeIDs = nodesBefore(frame[depth]?.nodeID ?? nodeID, {
      sourcesOf: (id) => sources.get(id) ?? [],
      stopAt: frame[depth - 1]?.nodeID,
    });
    const row = await findPassed(pool, instanceID, { ...layer, nodeIDs });
    if (!row) continue;
    const value = passedError(row.error, row);
    return { ...unknown, nodeID: row.nodeID, seq: row.seq, length: JSON.stringify(value).length, value };
  }
  return undefined;
}

/** The values with which a run begins: its input, or in a chunk of a map those around the map. */
async function outermost(pool: Pool, { input, mapID }: Run): Promise<Entries> {
  if (!mapID) {
    const { length } = JSON.stringify(input);
    return new Map([['input', { ...unknown, length, value: input }]]);
  }
  const given = await readMapScope(pool, mapID, MAX_READ);
  return new Map(given.map((one) => [one.key, givenAs(one)]));
}

/** Sets what an output adds to `ctx`. Returns whether it is known which keys those are. */
function add(
  entries: Entries,
  node: CheckedNode & { definition: AnyNode },
  { seq, nodeID, output, large, length }: OutputRow,
): boolean {
  const from = { ...unknown, nodeID, seq };
  if (isJsonObject(output)) {
    const patch = contextPatch(node, node.config, output);
    for (const [key, value] of Object.entries(patch ?? {}))
      entries.set(key, { ...from, length: JSON.stringify(value).length, value });
    return true;
  }
  const name = large ? large.name : nameOf(node.config);
  if (name === null) return true;
  for (const key of large?.keys ?? [name]) entries.set(key, { ...from, length, name, preview: large?.preview ?? null });
  return large !== null || !isSpread(node.definition, node.config);
}

/** Reads the values that an answer has room for: first those that are wanted, then those that were set last. */
async function choose(pool: Pool, instanceID: string, entries: Entries, wanted: ReadonlySet<string>) {
  const shown: JsonObject = {};
  const values: JsonObject = {};
  const outputs = new Map<number, Json>();
  let capacity = MAX_SHOWN;
  let toRead = MAX_SHOWN;
  const rank = (key: string, { seq }: Entry) => (wanted.has(key) ? 2 : 0) + (seq === null ? 1 : 0);
  const order = [...entries].sort(
    ([key, one], [otherKey, other]) => rank(otherKey, other) - rank(key, one) || (other.seq ?? 0) - (one.seq ?? 0),
  );
  for (const [key, entry] of order) {
    const value = entry.value === undefined ? await load(key, entry) : entry.value;
    if (value === undefined) continue;
    set(values, key, value);
    const length = entry.value === undefined ? JSON.stringify(value).length : (entry.length ?? 0);
    if (length > capacity) continue;
    capacity -= length;
    set(shown, key, value);
  }
  return { shown, values };

  async function load(key: string, { seq, name, length }: Entry): Promise<Json | undefined> {
    if (seq === null || name === undefined || length === null) return undefined;
    if (!outputs.has(seq)) {
      if (length > toRead) return undefined;
      toRead -= length;
      outputs.set(seq, await readValue(pool, instanceID, { seq, name }));
    }
    const whole = outputs.get(seq) ?? null;
    return key === name || !isJsonObject(whole) ? whole : (whole[key] ?? null);
  }
}

/** Sets a key that may be `__proto__`. */
function set(object: JsonObject, key: string, value: Json): void {
  Object.defineProperty(object, key, { value, enumerable: true, configurable: true, writable: true });
}
