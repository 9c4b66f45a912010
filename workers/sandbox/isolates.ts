import ivm from 'isolated-vm';
import { type Ending, type Prelude, preludeSource } from './prelude.ts';
import type { Job, Outcome } from './protocol.ts';

const maxIdle = 32;
const maxIdleMs = 60_000;
/** An isolate that grew beyond this is not kept: what a call left in it would be held for a minute. */
const maxIdleBytes = 32 * 1024 * 1024;
const maxScripts = 20;
/** Lets the answer be read first: at once, it reached the pool half a millisecond later on a machine of two cores. */
const prepareAfterMs = 1;

interface Isolates {
  /** The tenant's idle isolate, or another one. Until it is given back nobody else gets it. */
  take(job: Job): TenantIsolate;
  give(isolate: TenantIsolate): void;
  /** What the idle ones hold, by their own account. */
  idleBytes(): number;
}

/** Isolates of one host process: one per tenant and memory limit, least recently used first. */
export function createIsolates(onCatastrophe: (isolate: TenantIsolate) => void): Isolates {
  const idle = new Map<string, TenantIsolate>();
  setInterval(() => dropWhere((isolate) => isolate.idleSince < performance.now() - maxIdleMs), maxIdleMs / 6).unref();

  return {
    take(job) {
      const key = keyOf(job);
      const found = idle.get(key);
      idle.delete(key);
      return found && !found.isDisposed ? found : new TenantIsolate(job, onCatastrophe);
    },

    give(isolate) {
      if (isolate.isDisposed) return;
      const maxBytes = Math.min(maxIdleBytes, (isolate.memoryMB / 2) * 1024 * 1024);
      if (idle.has(isolate.key) || isolate.measure() > maxBytes) {
        isolate.dispose();
        return;
      }
      isolate.idleSince = performance.now();
      idle.set(isolate.key, isolate);
      setTimeout(() => idle.get(isolate.key) === isolate && isolate.prepare(), prepareAfterMs);
      if (idle.size > maxIdle) dropWhere((_, index) => index === 0);
    },

    idleBytes() {
      let sum = 0;
      for (const isolate of idle.values()) sum += isolate.bytes;
      return sum;
    },
  };

  function dropWhere(isPast: (isolate: TenantIsolate, index: number) => boolean): void {
    for (const [index, isolate] of [...idle.values()].entries()) {
      if (!isPast(isolate, index)) continue;
      idle.delete(isolate.key);
      isolate.dispose();
    }
  }
}

function keyOf({ tenantID, memoryMB }: Job): string {
  return `${memoryMB} ${tenantID}`;
}

/** A context no user code has run in yet, and the doors into it. */
interface Room {
  context: ivm.Context;
  doors: ivm.Reference<Prelude>;
  start: ivm.Reference;
  read: ivm.Reference;
}

/** One V8 heap that serves one tenant, one call at a time, every call in a context of its own. */
export class TenantIsolate {
  readonly key: string;
  readonly memoryMB: number;
  idleSince = 0;
  /** The heap's size when it was last measured. */
  bytes = 0;
  readonly #isolate: ivm.Isolate;
  readonly #prelude: ivm.Script;
  readonly #scripts = new Map<string, ivm.Script>();
  #room: Room | undefined;

  constructor(job: Job, onCatastrophe: (isolate: TenantIsolate) => void) {
    const { memoryMB } = job;
    this.key = keyOf(job);
    this.memoryMB = memoryMB;
    this.#isolate = new ivm.Isolate({ memoryLimit: memoryMB, onCatastrophicError: () => onCatastrophe(this) });
    this.#prelude = this.#isolate.compileScriptSync(preludeSource(), { filename: 'prelude.js' });
  }

  get isDisposed(): boolean {
    return this.#isolate.isDisposed;
  }

  /**
   * Makes the next call's context while nobody waits: 0.4 ms, the greater part of what a call costs. On the host's own
   * thread, since only our code runs in it and the way to another thread and back takes half as long again.
   */
  prepare(): void {
    try {
      this.#room ??= this.#furnish();
    } catch {
      // No room is left in this heap: the next call gets another isolate.
      this.dispose();
    }
  }

  /** Answers by itself only if the code does not compile; what isolated-vm throws (time, memory) is for the caller. */
  async run(job: Job, remainingMs: () => number): Promise<Outcome> {
    const room = this.#room ?? this.#furnish();
    this.#room = undefined;
    try {
      const script = this.#scripts.get(scriptKey(job)) ?? (await this.#compile(job, room));
      if (!(script instanceof ivm.Script)) return script;

      // `check` made sure that this only makes a closure, so it may run on the host's own thread.
      const code = script.runSync(room.context, { reference: true });
      const into = [code.derefInto({ release: true }), job.args, job.maxOutputBytes];
      await room.start.apply(undefined, into, { timeout: remainingMs() }).catch(expectLure);
      // Nothing is left to run in there, so neither can this wait.
      const ending = room.read.applySync(undefined, [], { result: { copy: true } });
      // `read` is ours, and user code cannot replace it.
      return toOutcome(ending as Ending | undefined, job);
    } finally {
      // Unreleased, a reference holds its whole context until the host's own heap is collected: 190 kB a call.
      for (const held of [room.doors, room.start, room.read, room.context]) held.release();
    }
  }

  measure(): number {
    const heap = this.#isolate.getHeapStatisticsSync();
    this.bytes = heap.total_physical_size + heap.externally_allocated_size;
    return this.bytes;
  }

  /** Also ends what is running in it, if V8 still listens. */
  dispose(): void {
    if (!this.isDisposed) this.#isolate.dispose();
  }

  #furnish(): Room {
    const context = this.#isolate.createContextSync();
    const doors: ivm.Reference<Prelude> = this.#prelude.runSync(context, { reference: true });
    const start = doors.getSync('start', { reference: true });
    const read = doors.getSync('read', { reference: true });
    return { context, doors, start, read };
  }

  async #compile(job: Job, room: Room): Promise<ivm.Script | Outcome> {
    const source = `(async function (${job.names.join(', ')}) {\n${job.code}\n})`;
    let script: ivm.Script;
    try {
      script = await this.#isolate.compileScript(source, { filename: codeFile, lineOffset: -1 });
    } catch (error) {
      if (!(error instanceof SyntaxError)) throw error;
      const [, message = error.message, line] = /^([\s\S]*) \[code\.js:(\d+):\d+\]$/.exec(error.message) ?? [];
      return { kind: 'thrown', name: 'SyntaxError', message: message.slice(0, 2000), line: line ? Number(line) : null };
    }
    const check = room.doors.getSync('check', { reference: true });
    const problem = await check.apply(undefined, [job.names, job.code], { arguments: { copy: true } });
    check.release();
    if (typeof problem === 'string') return { kind: 'thrown', name: 'SyntaxError', message: problem, line: null };

    if (this.#scripts.size >= maxScripts) {
      for (const stale of this.#scripts.values()) stale.release();
      this.#scripts.clear();
    }
    this.#scripts.set(scriptKey(job), script);
    return script;
  }
}

const codeFile = 'code.js';

function scriptKey({ names, code }: Job): string {
  return `${names.join()}\n${code}`;
}

/** `start` leaves one unhandled rejection behind on purpose; see there. */
function expectLure(error: unknown): void {
  if (error !== 0) throw error;
}

function toOutcome(ending: Ending | undefined, { maxOutputBytes }: Job): Outcome {
  if (ending === undefined) return { kind: 'pending' };
  if (ending.kind === 'thrown') {
    const { kind, name, message, stack } = ending;
    if (message === 'Array buffer allocation failed') return { kind: 'memory' };
    const line = /^\s+at .*\bcode\.js:(\d+)/m.exec(stack)?.[1];
    return { kind, name, message, line: line ? Number(line) : null };
  }
  if (ending.kind === 'value' && Buffer.byteLength(ending.json) > maxOutputBytes) return { kind: 'large' };
  return ending;
}
