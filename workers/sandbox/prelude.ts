import { MAX_PRINTED, type PrintedText } from './protocol.ts';

/** The three entry points of a context, which `prelude` gives to the host. */
export interface Prelude {
  check(names: string[], code: string): string | undefined;
  start(code: (...args: unknown[]) => unknown, args: string, maxOutputBytes: number): void;
  read(): Reading;
}

/** How the code has ended, if it has, and what it has printed, if anything. */
export interface Reading {
  ending: Ending | undefined;
  printed: PrintedText | undefined;
}

export type Ending =
  | { kind: 'value'; json: string }
  | { kind: 'thrown'; name: string; message: string; stack: string }
  | { kind: 'invalid'; message: string }
  | { kind: 'large' };

/** Source of a script whose value is the context's `Prelude`. */
export function preludeSource(): string {
  return `'use strict'; (${prelude})(${JSON.stringify(standardGlobals)}, ${maxDepth}, ${JSON.stringify(MAX_PRINTED)})`;
}

/** Deeper results would overflow the stack of recursive code that reads them. */
const maxDepth = 500;

/**
 * The standard globals that user code sees; all others of V8 are removed. Left out on purpose: `WebAssembly`,
 * `SharedArrayBuffer` and `Atomics` (memory outside the isolate's limit, threads that sleep), `FinalizationRegistry` (its
 * callbacks run after the call, under no time limit). The console is ours.
 */
const standardGlobals = (
  'globalThis undefined NaN Infinity Object Function Array Number Boolean String Symbol BigInt Date Promise RegExp JSON Math Intl ' +
  'Temporal Reflect Proxy Map Set WeakMap WeakSet WeakRef Iterator Error AggregateError EvalError RangeError ReferenceError ' +
  'SyntaxError TypeError URIError SuppressedError DisposableStack AsyncDisposableStack ArrayBuffer DataView Uint8Array Int8Array ' +
  'Uint16Array Int16Array Uint32Array Int32Array BigUint64Array BigInt64Array Uint8ClampedArray Float16Array Float32Array ' +
  'Float64Array parseInt parseFloat isNaN isFinite decodeURI decodeURIComponent encodeURI encodeURIComponent escape unescape eval'
).split(' ');

/**
 * Runs inside a fresh context, as text, before any user code: it can use its parameters but nothing else of this module, and
 * reads every built-in that it needs later at once, because user code may replace them all.
 */
function prelude(allowed: string[], maxLevels: number, maxPrinted: typeof MAX_PRINTED): Prelude {
  const { parse, stringify } = JSON;
  const { apply, construct, ownKeys } = Reflect;
  const { defineProperty } = Object;
  const toText = String;
  const sliceText = String.prototype.slice;
  const AsyncFunction = (async () => undefined).constructor;
  const cutText = (text: string, from: number): string => apply(sliceText, text, [from, from + 2000]);

  const NativeError = Error;
  const { now } = Date;

  let ending: Ending | undefined;
  let printedLines = '';
  let printedCount = 0;
  let printedLength = 0;
  const cut = { lines: 0, bytes: 0 };
  let problem: Ending | undefined;
  let maxBytes = 0;
  // Lower bound of the result's size, so that a huge result is refused before its text is built.
  let size = 0;
  // The path from the result to the visited value. Filled in advance: writing to a missing element would run a setter that
  // user code has put on the prototype.
  const holders: unknown[] = new Array(maxLevels + 1).fill(null);
  let depth = 0;
  let _ownRejection: unknown;

  for (const name of ownKeys(globalThis)) {
    if (typeof name !== 'string' || !allowed.includes(name)) Reflect.deleteProperty(globalThis, name);
  }
  fixBufferLength();
  addConsole();

  return {
    /** Returns the compiler's error for this body alone, e.g. for `}); (() => {`. */
    check(names, code) {
      try {
        construct(AsyncFunction, [...names, code]);
        return undefined;
      } catch (error) {
        return (error as Error).message;
      }
    },

    start(code, args, maxOutputBytes) {
      // isolated-vm reports the first unhandled rejection of a task, and evaluates it (getters included) without a time limit.
      // So this rejection with a plain number comes before those of user code. The variable references it so that it stays the first.
      _ownRejection = Promise.reject(0);
      maxBytes = maxOutputBytes;
      void settle(code, parse(args));
    },

    read: () => ({ ending, printed: isSilent() ? undefined : { lines: `[${printedLines}]`, cut } }),
  };

  function isSilent(): boolean {
    return printedCount === 0 && cut.lines === 0;
  }

  /** Appends a line to one text: storing lines in a list would run a setter that user code has put on the prototype. */
  function print(level: string, values: unknown[]): void {
    let text = '';
    for (let at = 0; at < values.length; at += 1) text += (at === 0 ? '' : ' ') + show(values[at]);
    const { length } = text;
    if (printedCount >= maxPrinted.lines || printedLength + length > maxPrinted.bytes) {
      cut.lines += 1;
      cut.bytes += length;
      return;
    }
    if (length > maxPrinted.length) text = `${apply(sliceText, text, [0, maxPrinted.length])}…`;
    printedLines += `${printedCount === 0 ? '' : ','}{"level":"${level}","at":${now()},"message":${stringify(text)}}`;
    printedCount += 1;
    printedLength += length;
  }

  function show(value: unknown): string {
    if (typeof value === 'string') return value;
    if (typeof value === 'bigint') return `${toText(value)}n`;
    try {
      if (value instanceof NativeError) return toText(value.stack ?? value);
      return stringify(value) ?? toText(value);
    } catch {
      return showNoJSON(value);
    }
  }

  /** Shows a value that `stringify` alone has refused, perhaps for its bigints. With a replacer it takes several times as long. */
  function showNoJSON(value: unknown): string {
    try {
      return stringify(value, (_key, inner) => (typeof inner === 'bigint' ? `${toText(inner)}n` : inner));
    } catch {
      return '[a value that cannot be shown]';
    }
  }

  function addConsole(): void {
    const levels: Record<string, string> = {
      log: 'info',
      info: 'info',
      dir: 'info',
      table: 'info',
      debug: 'debug',
      trace: 'debug',
      warn: 'warn',
      error: 'error',
    };
    const console = {};
    for (const name of ownKeys(levels) as string[])
      defineProperty(console, name, {
        value: (...values: unknown[]) => print(levels[name] ?? 'info', values),
        writable: true,
        configurable: true,
        enumerable: true,
      });
    defineProperty(globalThis, 'console', { value: console, writable: true, configurable: true });
  }

  async function settle(code: (...args: unknown[]) => unknown, args: unknown[]): Promise<void> {
    let value: unknown;
    try {
      value = await apply(code, undefined, args);
    } catch (error) {
      ending = describe(error);
      return;
    }
    ending = encode(value);
  }

  function encode(value: unknown): Ending {
    try {
      const json: string | undefined = stringify(value, visit);
      if (json === undefined) return { kind: 'value', json: 'null' };
      return json.length > maxBytes ? { kind: 'large' } : { kind: 'value', json };
    } catch (error) {
      return problem ?? describe(error);
    }
  }

  // Called for every value in the result, but rarely often enough for V8 to optimize it, so it is short on purpose.
  function visit(this: unknown, key: string, item: unknown): unknown {
    if (typeof item === 'string') size += item.length;
    else if (typeof item === 'object') enter(this, item);
    else if (typeof item === 'function' || typeof item === 'symbol' || typeof item === 'bigint') refuseType(key, item);
    size += 1;
    if (size > maxBytes) refuse({ kind: 'large' });
    return item;
  }

  function enter(owner: unknown, item: object | null): void {
    if (item === null) return;
    while (depth > 0 && holders[depth] !== owner) depth -= 1;
    for (let at = depth; at > 0; at -= 1) {
      if (holders[at] === item) refuse({ kind: 'invalid', message: 'it contains itself' });
    }
    if (depth === maxLevels) refuse({ kind: 'invalid', message: `it is nested more than ${maxLevels} levels deep` });
    depth += 1;
    holders[depth] = item;
  }

  function refuseType(key: string, item: unknown): never {
    const what = key === '' ? 'it' : `"${cutText(key, 0)}"`;
    return refuse({ kind: 'invalid', message: `${what} is a ${typeof item}` });
  }

  function refuse(found: Ending): never {
    problem = found;
    throw found;
  }

  function describe(thrown: unknown): Ending {
    try {
      if ((typeof thrown !== 'object' && typeof thrown !== 'function') || thrown === null) {
        return { kind: 'thrown', name: 'Error', message: cutText(toText(thrown), 0), stack: '' };
      }
      const error = thrown as { name?: unknown; message?: unknown; stack?: unknown };
      const name = toText(error.name ?? 'Error');
      const message = toText(error.message ?? stringify(thrown));
      const { stack } = error;
      // The message is skipped: a line number in it could be forged.
      const stackText = typeof stack === 'string' ? cutText(stack, name.length + message.length) : '';
      return { kind: 'thrown', name: cutText(name, 0), message: cutText(message, 0), stack: stackText };
    } catch {
      return { kind: 'thrown', name: 'Error', message: 'the thrown value cannot be described', stack: '' };
    }
  }

  /** A resizable buffer grows outside the isolate's memory limit, so buffers cannot be made resizable. */
  function fixBufferLength(): void {
    const Native = ArrayBuffer;
    function Fixed(length: number): ArrayBuffer {
      if (new.target === undefined) throw new TypeError("Constructor ArrayBuffer requires 'new'");
      return construct(Native, [length], new.target);
    }
    defineProperty(Fixed, 'name', { value: 'ArrayBuffer' });
    defineProperty(Fixed, 'isView', { value: Native.isView, writable: true, configurable: true });
    defineProperty(Fixed, Symbol.species, { get: () => Fixed, configurable: true });
    Fixed.prototype = Native.prototype;
    defineProperty(Native.prototype, 'constructor', { value: Fixed, writable: true, configurable: true });
    defineProperty(globalThis, 'ArrayBuffer', { value: Fixed, writable: true, configurable: true });
  }
}
