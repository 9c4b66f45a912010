import { createDynamicLimit, creatorOf } from '#shared/concurrency/dynamic-limit.ts';
import type { FlowKey } from '#shared/concurrency/fair-queue.ts';
import type { JsonObject } from '#shared/core/json.ts';
import { LARGE_LENGTH } from '../state/large-outputs.ts';
import type { PendingEvent } from '../state/pending-commit.ts';
import type { Run } from '../state/run.ts';
import type { Source } from '../state/source.ts';

/** The values that runs of a process have in memory, in characters of JSON text. */
export interface ResidentValues {
  /**
   * Waits until there is memory for a run: for its known length, and for one more output. False: none became free within the timeout, or the
   * run was released. A run that is the only one of the process always gets memory.
   */
  acquire(run: Run, length: number): Promise<boolean>;
  /** Updates the length of a run's values, and offloads the large outputs that a commit has written. */
  count(run: Run, committed?: readonly Pick<PendingEvent, 'source'>[]): void;
  /** Keeps the value of a large output that was read, for the next node that names it. */
  retain(run: Run, source: Source): void;
  /** Forgets a run that was released. */
  drop(run: Run): void;
  /** Whether a run has to be released for others: the memory is over its limit, and this run takes as much as the average run or more. */
  mustRelease(run: Run): boolean;
  /** Whether there is no memory for another run. */
  readonly isFull: boolean;
  /** Whether the creator of a tenant has reached its share of the memory, so that the tenant's next run would get none. */
  isOverShare(tenantID: string): boolean;
  readonly length: number;
}

/**
 * The factor by which the memory of a creator may exceed the free memory, as with slots: a single creator gets four fifths of all. So a run of
 * the next creator gets memory at once, even while large runs of the first wait for silent servers.
 */
const SHARE = 4;

/** How long a run waits for memory before another process may claim it. */
export const MEMORY_TIMEOUT_MS = 1_000;

interface WaitingRun {
  run: Run;
  length: number;
  resolve(isAccepted: boolean): void;
}

/**
 * Limits the memory that values of owned runs take. Values of large outputs are a cache: the one whose last use is longest ago is dropped
 * first, and a node reads it from its row. Other values cannot be dropped: over the limit, a process claims no further runs, and hands back
 * its largest ones between two of their nodes, except the last one.
 */
export function createResidentValues(maxLength: number): ResidentValues {
  const resident = new Map<Run, number>();
  /** The length with which each run was accepted: that known before, and one more output. */
  const atEntry = new Map<Run, number>();
  const waiting: WaitingRun[] = [];
  let residentLength = 0;
  /** The scopes around maps, each with the number of chunks that this process owns: the chunks of a map share its scope. */
  const mapScopes = new Map<JsonObject, number>();
  let mapScopesLength = 0;
  const byCreator = createDynamicLimit(SHARE);
  /** For each tenant, the last run that got no memory because its creator had reached its share. */
  const refused = new Map<string, { flow: FlowKey; length: number; at: number }>();
  /** The values of large outputs in memory, each with its run, in the order of their last use. */
  const values = new Map<Source, Run>();
  let valuesLength = 0;

  function forget(source: Source): void {
    if (!values.delete(source)) return;
    valuesLength -= source.length;
    source.value = undefined;
  }

  function total(): number {
    return residentLength + mapScopesLength;
  }

  /** Counts that this process owns one chunk of a map more, or less. */
  function share({ chunk, flow }: Run, change: 1 | -1): void {
    if (!chunk) return;
    const { scope, scopeLength } = chunk;
    const before = mapScopes.get(scope) ?? 0;
    const now = before + change;
    if (now === 0) mapScopes.delete(scope);
    else mapScopes.set(scope, now);
    // Only the first chunk adds the shared scope to the memory, and only the last removes it.
    if (before > 0 && now > 0) return;
    mapScopesLength += change * scopeLength;
    byCreator.count(flow, change * scopeLength);
  }

  function evict(): void {
    for (const source of values.keys()) {
      if (total() + valuesLength <= maxLength) return;
      forget(source);
    }
  }

  function retain(run: Run, source: Source): void {
    if (run.releaseReason !== null) {
      source.value = undefined;
      return;
    }
    if (values.delete(source)) valuesLength -= source.length;
    values.set(source, run);
    valuesLength += source.length;
    evict();
  }

  function add({ flow }: Run, length: number): void {
    residentLength += length;
    byCreator.count(flow, length);
  }

  function setLength(run: Run, length: number): void {
    if (!resident.has(run)) share(run, 1);
    add(run, length - (resident.get(run) ?? 0));
    resident.set(run, length);
    evict();
  }

  function accept(run: Run, length: number): void {
    atEntry.set(run, length);
    setLength(run, length);
  }

  /** Whether a creator has reached its share. If the run does not fit beside all others, only the creator's own runs count. */
  function isAtLimit(flow: FlowKey, length: number): boolean {
    const free = maxLength - total() - length;
    return byCreator.isReached(flow, free < 0 ? maxLength - byCreator.usedBy(flow) - length : free);
  }

  /** The length of a run and, if it is a chunk, of the scope around its map, unless that is in memory already. */
  function lengthWithScope({ run: { chunk }, length }: WaitingRun): number {
    return length + (chunk && !mapScopes.has(chunk.scope) ? chunk.scopeLength : 0);
  }

  /** The next run to accept, in the order of arrival: small runs do not overtake a large one, unless its creator has reached its share. */
  function nextWaiting(): WaitingRun | undefined {
    const skippedCreators = new Set<string>();
    for (const entrant of waiting) {
      const { flow } = entrant.run;
      if (skippedCreators.has(creatorOf(flow))) continue;
      if (!isAtLimit(flow, lengthWithScope(entrant))) return entrant;
      skippedCreators.add(creatorOf(flow));
    }
    return undefined;
  }

  function acceptWaiting(): void {
    for (let next = nextWaiting(); next; next = nextWaiting()) {
      if (resident.size > 0 && total() + lengthWithScope(next) > maxLength) return;
      waiting.splice(waiting.indexOf(next), 1);
      accept(next.run, next.length);
      next.resolve(true);
    }
  }

  function refuse(run: Run): void {
    const at = waiting.findIndex((entrant) => entrant.run === run);
    const [entrant] = at < 0 ? [] : waiting.splice(at, 1);
    entrant?.resolve(false);
    acceptWaiting();
  }

  return {
    retain,
    async acquire(run, knownLength) {
      const length = knownLength + LARGE_LENGTH;
      const { promise, resolve } = Promise.withResolvers<boolean>();
      const entrant = { run, length, resolve };
      waiting.push(entrant);
      acceptWaiting();
      const { flow } = run;
      const fullLength = lengthWithScope(entrant);
      if (waiting.includes(entrant) && isAtLimit(flow, fullLength))
        refused.set(flow.tenantID, { flow, length: fullLength, at: performance.now() });
      const timer = setTimeout(() => refuse(run), MEMORY_TIMEOUT_MS);
      const isAccepted = await promise;
      clearTimeout(timer);
      return isAccepted;
    },
    count(run, committed = []) {
      for (const { source } of committed) {
        if (!source?.large) continue;
        run.state.offload(source);
        if (source.uses > 0) retain(run, source);
        else source.value = undefined;
      }
      setLength(run, Math.max(run.state.residentLength, atEntry.get(run) ?? 0));
      acceptWaiting();
    },
    drop(run) {
      if (resident.has(run)) share(run, -1);
      add(run, -(resident.get(run) ?? 0));
      resident.delete(run);
      atEntry.delete(run);
      if (byCreator.usedBy(run.flow) === 0) refused.delete(run.flow.tenantID);
      if (run.state.hasOffloaded) for (const [source, owner] of values) if (owner === run) forget(source);
      refuse(run);
    },
    mustRelease(run) {
      return total() > maxLength && resident.size > 1 && (resident.get(run) ?? 0) * resident.size >= residentLength;
    },
    get isFull() {
      return nextWaiting() !== undefined || total() > maxLength;
    },
    isOverShare(tenantID) {
      const last = refused.get(tenantID);
      // After the time that the refused run waited, another run of the tenant is tried, which may be smaller.
      return last !== undefined && performance.now() < last.at + MEMORY_TIMEOUT_MS && isAtLimit(last.flow, last.length);
    },
    get length() {
      return total() + valuesLength;
    },
  };
}
