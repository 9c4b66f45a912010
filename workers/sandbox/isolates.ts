import ivm from 'isolated-vm';
import { LRUCache } from 'lru-cache';
import { callHost } from './host-functions.ts';
import { type Ending, type Prelude, preludeSource, type Reading } from './prelude.ts';
import type { CallOutcome, Job, PrintedText } from './protocol.ts';
import { needsWebGlobals, webGlobalsSource } from './web-globals.ts';

const maxIdle = 32;
const maxIdleMs = 60_000;
/** A larger isolate is not cached: it would retain what a call has left in it for a minute. */
const maxIdleBytes = 32 * 1024 * 1024;
const maxScripts = 20;
/** A delay lets the answer be read first; without it, the answer reached the pool 0.5 ms later on two cores. */
const prepareAfterMs = 1;

interface Isolates {
  /** Takes the tenant's idle isolate or a new one. No other call gets it until it is released. */
  take(job: Job): TenantIsolate;
  give(isolate: TenantIsolate): void;
  /** Memory of the idle isolates, as last measured. */
  idleBytes(): number;
}

/** Keeps idle isolates of one host process: one per tenant and memory limit, least recently used first. */
export function createIsolates(onCatastrophe: (isolate: TenantIsolate) => void): Isolates {
  const idle = new LRUCache<string, TenantIsolate>({
    max: maxIdle,
    ttl: maxIdleMs,
    ttlAutopurge: true,
    // `take` deletes an isolate from the cache to use it, so a deleted one is not disposed of.
    dispose: (isolate, _key, reason) => reason !== 'delete' && isolate.dispose(),
  });

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
      idle.set(isolate.key, isolate);
      setTimeout(() => idle.peek(isolate.key) === isolate && isolate.prepare(), prepareAfterMs);
    },

    idleBytes() {
      let sum = 0;
      for (const isolate of idle.values()) sum += isolate.bytes;
      return sum;
    },
  };
}

function keyOf({ tenantID, memoryMB }: Job): string {
  return `${memoryMB} ${tenantID}`;
}

/** A context in which no user code has run yet, and its entry points. */
interface FreshContext {
  context: ivm.Context;
  entries: ivm.Reference<Prelude>;
  start: ivm.Reference;
  read: ivm.Reference;
}

/** One V8 heap that serves one tenant, one call at a time, every call in a context of its own. */
export class TenantIsolate {
  readonly key: string;
  readonly memoryMB: number;
  /** The heap's size when it was last measured. */
  bytes = 0;
  readonly #isolate: ivm.Isolate;
  readonly #prelude: ivm.Script;
  /** Compiled when the first code names one of its globals. */
  #webGlobals: ivm.Script | undefined;
  readonly #scripts = new LRUCache<string, ivm.Script>({ max: maxScripts, dispose: (script) => script.release() });
  #fresh: FreshContext | undefined;

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
   * Creates the next call's context in advance, which takes 0.4 ms, the greater part of the cost of a call. It runs on the host's own
   * thread, since only our code runs in the context; on another thread it would take half as long again.
   */
  prepare(): void {
    try {
      this.#fresh ??= this.#createContext();
    } catch {
      // The heap is full: the next call gets another isolate.
      this.dispose();
    }
  }

  /** Runs a job. Code that does not compile is an outcome; errors of isolated-vm (time, memory) are thrown. */
  async run(job: Job, remainingMs: () => number, onPrinted: (printed: PrintedText) => void): Promise<CallOutcome> {
    const fresh = this.#fresh ?? this.#createContext();
    this.#fresh = undefined;
    let isRead = false;
    try {
      const script = this.#scripts.get(scriptKey(job)) ?? (await this.#compile(job, fresh));
      if (!(script instanceof ivm.Script)) return script;

      if (needsWebGlobals(job.code)) this.#addWebGlobals(fresh);
      // `check` made sure that this only makes a closure, so it may run on the host's own thread.
      const code = script.runSync(fresh.context, { reference: true });
      const startArgs = [code.derefInto({ release: true }), job.args, job.maxOutputBytes];
      await fresh.start.apply(undefined, startArgs, { timeout: remainingMs() }).catch(ignoreOwnRejection);
      // No code is left to run in the context, so this cannot block.
      // Safe: `read` is our own code, and user code cannot replace it.
      const { ending, printed } = fresh.read.applySync(undefined, [], { result: { copy: true } }) as Reading;
      isRead = true;
      if (printed) onPrinted(printed);
      return toOutcome(ending, job);
    } finally {
      if (!isRead) this.#readPrinted(fresh, onPrinted);
      // Unreleased, a reference holds its whole context until the host's own heap is collected: 190 kB a call.
      for (const references of [fresh.entries, fresh.start, fresh.read, fresh.context]) references.release();
    }
  }

  /** Reads what code that was stopped has printed. That may run waiting callbacks of its promises, so the time is limited. */
  #readPrinted({ read }: FreshContext, onPrinted: (printed: PrintedText) => void): void {
    // Tried twice: the first attempt may throw the rejection that `start` has left.
    for (let attempt = 0; attempt < 2 && !this.isDisposed; attempt += 1)
      try {
        // Safe as in `run`.
        const { printed } = read.applySync(undefined, [], { result: { copy: true }, timeout: READ_MS }) as Reading;
        if (printed) onPrinted(printed);
        return;
      } catch {
        // The printed lines are lost; the isolate is disposed of next.
      }
  }

  measure(): number {
    const heap = this.#isolate.getHeapStatisticsSync();
    this.bytes = heap.total_physical_size + heap.externally_allocated_size;
    return this.bytes;
  }

  /** Also ends the code that runs in it, if V8 can interrupt it. */
  dispose(): void {
    if (!this.isDisposed) this.#isolate.dispose();
  }

  #createContext(): FreshContext {
    const context = this.#isolate.createContextSync();
    const entries: ivm.Reference<Prelude> = this.#prelude.runSync(context, { reference: true });
    const start = entries.getSync('start', { reference: true });
    const read = entries.getSync('read', { reference: true });
    return { context, entries, start, read };
  }

  /** No code of the tenant has run in the context, so this may run on the host's own thread. */
  #addWebGlobals({ context }: FreshContext): void {
    this.#webGlobals ??= this.#isolate.compileScriptSync(webGlobalsSource(), { filename: 'web-globals.js' });
    const add = this.#webGlobals.runSync(context, { reference: true });
    add.applySync(undefined, [new ivm.Callback(callHost, { sync: true })]);
    add.release();
  }

  async #compile(job: Job, fresh: FreshContext): Promise<ivm.Script | CallOutcome> {
    const source = `(async function (${job.names.join(', ')}) {\n${job.code}\n})`;
    let script: ivm.Script;
    try {
      script = await this.#isolate.compileScript(source, { filename: codeFile, lineOffset: -1 });
    } catch (error) {
      if (!(error instanceof SyntaxError)) throw error;
      const [, message = error.message, line, column] =
        /^([\s\S]*) \[code\.js:(\d+):(\d+)\]$/.exec(error.message) ?? [];
      return { kind: 'thrown', name: 'SyntaxError', message: message.slice(0, 2000), ...positionOf(line, column) };
    }
    const check = fresh.entries.getSync('check', { reference: true });
    const problem = await check.apply(undefined, [job.names, job.code], { arguments: { copy: true } });
    check.release();
    if (typeof problem === 'string') return { kind: 'thrown', name: 'SyntaxError', message: problem, ...positionOf() };

    this.#scripts.set(scriptKey(job), script);
    return script;
  }
}

/** The line and column of an error in the code. */
function positionOf(line?: string, column?: string): { line: number | null; column: number | null } {
  return { line: line ? Number(line) : null, column: column ? Number(column) : null };
}

const READ_MS = 20;
const codeFile = 'code.js';

function scriptKey({ names, code }: Job): string {
  return `${names.join()}\n${code}`;
}

/** Ignores the unhandled rejection that `start` in `prelude.ts` leaves behind on purpose. */
function ignoreOwnRejection(error: unknown): void {
  if (error !== 0) throw error;
}

function toOutcome(ending: Ending | undefined, { maxOutputBytes }: Job): CallOutcome {
  if (ending === undefined) return { kind: 'pending' };
  if (ending.kind === 'thrown') {
    const { kind, name, message, stack } = ending;
    if (message === 'Array buffer allocation failed') return { kind: 'memory' };
    const [, line, column] = /^\s+at .*\bcode\.js:(\d+):(\d+)/m.exec(stack) ?? [];
    return { kind, name, message, ...positionOf(line, column) };
  }
  if (ending.kind === 'value' && Buffer.byteLength(ending.json) > maxOutputBytes) return { kind: 'large' };
  return ending;
}
