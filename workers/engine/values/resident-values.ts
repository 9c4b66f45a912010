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
   * Waits until there is memory for a run with what it takes as far as that is known, and with one more output. False: there is
   * none by the end of the timeout, or the run was released. A run alone has memory.
   */
  acquire(run: Run, length: number): Promise<boolean>;
  /** Takes note of the length of a run's values by now, and of large outputs that a commit has written. */
  count(run: Run, committed?: readonly Pick<PendingEvent, 'source'>[]): void;
  /** Keeps the value of a large output that was read, for the next node that names it. */
  retain(run: Run, source: Source): void;
  /** Forgets a run that was released. */
  drop(run: Run): void;
  /** Whether a run has to be released for others: the memory is over its limit, and this run takes its share of it or more. */
  mustRelease(run: Run): boolean;
  /** Whether there is no memory for another run. */
  readonly isFull: boolean;
  /** Whether the creator of a tenant has its share of the memory, so that the tenant's next run would get none. */
  isOverShare(tenantID: string): boolean;
  readonly length: number;
}

/**
 * Memory that a creator may have for what is still free, as with slots: four fifths if it is alone. So another creator's run gets some at
 * once, also while large runs of the first wait for silent servers.
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
 * Bounds what owned runs have in memory. Values of large outputs stay while there is memory, those that were used last the longest; without
 * them a node reads the value from its row. Other values of runs cannot be dropped: a process over its limit claims no further run
 * and hands back its largest ones between two of their nodes, but for the last.
 */
export function createResidentValues(maxLength: number): ResidentValues {
  const resident = new Map<Run, number>();
  /** The length of each run when it was accepted, with one more output. */
  const atEntry = new Map<Run, number>();
  const waiting: WaitingRun[] = [];
  let residentLength = 0;
  /** The scopes around maps, with the number of their chunks that this process owns: they share it. */
  const around = new Map<JsonObject, number>();
  let aroundLength = 0;
  const byCreator = createDynamicLimit(SHARE);
  /** The run of each tenant that last got no memory because its creator had its share. */
  const refused = new Map<string, { flow: FlowKey; length: number; at: number }>();
  /** The one that was used last comes last. */
  const values = new Map<Source, Run>();
  let valuesLength = 0;

  function forget(source: Source): void {
    if (!values.delete(source)) return;
    valuesLength -= source.length;
    source.value = undefined;
  }

  function total(): number {
    return residentLength + aroundLength;
  }

  /** Takes note that this process owns one chunk more, or less, of a map. */
  function share({ chunk, flow }: Run, change: 1 | -1): void {
    if (!chunk) return;
    const { scope, scopeLength } = chunk;
    const before = around.get(scope) ?? 0;
    const now = before + change;
    if (now === 0) around.delete(scope);
    else around.set(scope, now);
    if (before > 0 && now > 0) return;
    aroundLength += change * scopeLength;
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

  /** Whether a creator has its share already, beside others or, if there is no memory for the run beside them, alone. */
  function isAtLimit(flow: FlowKey, length: number): boolean {
    const beside = maxLength - total() - length;
    return byCreator.isReached(flow, beside < 0 ? maxLength - byCreator.usedBy(flow) - length : beside);
  }

  /** The length of a run with the scope around it, if that is not in memory already. */
  function lengthWithScope({ run: { chunk }, length }: WaitingRun): number {
    return length + (chunk && !around.has(chunk.scope) ? chunk.scopeLength : 0);
  }

  /** In order, so that a large run is not passed by small ones, but for those of other creators if its own has its share. */
  function nextWaiting(): WaitingRun | undefined {
    const passed = new Set<string>();
    for (const entrant of waiting) {
      const { flow } = entrant.run;
      if (passed.has(creatorOf(flow))) continue;
      if (!isAtLimit(flow, lengthWithScope(entrant))) return entrant;
      passed.add(creatorOf(flow));
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
    async acquire(run, known) {
      const length = known + LARGE_LENGTH;
      const { promise, resolve } = Promise.withResolvers<boolean>();
      const entrant = { run, length, resolve };
      waiting.push(entrant);
      acceptWaiting();
      const { flow } = run;
      const asked = lengthWithScope(entrant);
      if (waiting.includes(entrant) && isAtLimit(flow, asked))
        refused.set(flow.tenantID, { flow, length: asked, at: performance.now() });
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
      // Another run, which may be smaller, is tried after the time for which that one has waited.
      return last !== undefined && performance.now() < last.at + MEMORY_TIMEOUT_MS && isAtLimit(last.flow, last.length);
    },
    get length() {
      return total() + valuesLength;
    },
  };
}
