import { isExact } from './exact-number.ts';
import type { Json } from './json.ts';

/** The depth that is accepted in responses of other servers and results of user code. Code that walks through values calls itself for each level. */
export const MAX_LEVELS = 500;

/** The error for a text that is nested deeper than allowed. */
export class TooDeep extends Error {}

/** The error for a number that a double does not hold, in JSON that its author can mend. */
export class LossyNumber extends Error {}

/**
 * Parses JSON that others have sent, in time linear to its length. Numbers that a double does not hold become texts. `JSON.parse` with
 * a function that sees each number takes seconds for an object of 500,000 keys, so the numbers are found and quoted in the text.
 */
export function readJSON(text: string, maxLevels = MAX_LEVELS): Json {
  return JSON.parse(quoteLossy(text, { maxLevels }));
}

/** The text with quotes around numbers that a double does not hold; with `within` only around those below a key of these names. */
export function quoteLossy(
  text: string,
  { maxLevels = MAX_LEVELS, within }: { maxLevels?: number; within?: readonly string[] } = {},
): string {
  const findsNumbers = hasLongNumber(text);
  if (!findsNumbers && text.length <= 2 * maxLevels) return text;
  const quoted = new Quoted(text, { maxLevels, findsNumbers, within });
  quoted.readTo(text.length);
  return quoted.text;
}

/** `quoteLossy` of a text of any depth, in steps of a millisecond. */
export function* quotingLossy(text: string): Generator<void, string> {
  for (let from = 0; ; from += STEP) {
    // A number may lie across the end of a step.
    if (hasLongNumber(text, Math.max(0, from - OVERLAP), Math.min(from + STEP, text.length))) break;
    if (from + STEP >= text.length) return text;
    yield;
  }
  const quoted = new Quoted(text, { maxLevels: Number.POSITIVE_INFINITY, findsNumbers: true, within: undefined });
  for (let stop = STEP; !quoted.isAtEnd; stop += STEP) {
    yield;
    quoted.readTo(stop);
  }
  return quoted.text;
}

/** Characters that two steps share, so that a number lies in one of them. */
const OVERLAP = 32;

class Quoted {
  readonly #scanner: JSONScanner;
  readonly #within: readonly string[] | undefined;
  readonly #parts: string[] = [];
  #from = 0;

  constructor(
    text: string,
    { maxLevels, findsNumbers, within }: Required<Scan> & { within: readonly string[] | undefined },
  ) {
    this.#scanner = new JSONScanner(text, { maxLevels, findsNumbers });
    this.#within = within;
  }

  get isAtEnd(): boolean {
    return this.#scanner.isAtEnd;
  }

  readTo(stop: number): void {
    const scanner = this.#scanner;
    const { text } = scanner;
    const within = this.#within;
    for (let found = scanner.next(stop); found; found = scanner.next(stop)) {
      if (!isValue(text, found) || (within && !scanner.path.some((key) => within.includes(key)))) continue;
      this.#parts.push(text.slice(this.#from, found.start), text.slice(found.start, found.end));
      this.#from = found.end;
    }
  }

  get text(): string {
    const { text, isTooDeep } = this.#scanner;
    if (isTooDeep) throw new TooDeep();
    return this.#parts.length === 0 ? text : [...this.#parts, text.slice(this.#from)].join('"');
  }
}

/** `JSON.parse` for a text that its author can mend: throws LossyNumber for a number that a double does not hold, and names its key. */
export function parseExact(text: string): unknown {
  const value: unknown = JSON.parse(text);
  if (!hasLongNumber(text)) return value;
  const scanner = new JSONScanner(text);
  const found = scanner.next();
  if (found) throw new LossyNumber(describeLossy(scanner, found));
  return value;
}

/** The fault of a number that a scanner has just found, with its path: `args.id: 12345678901234567890 is more than …`. */
export function describeLossy(scanner: JSONScanner, { start, end }: Found): string {
  const { text } = scanner;
  return faultOfLossy(scanner.path.join('.'), text.slice(start, end));
}

/** The fault of a number that a double does not hold, with its path; empty for one that has none. */
export function faultOfLossy(path: string, written: string): string {
  const shown = written.length > MAX_SHOWN ? `${written.slice(0, MAX_SHOWN)}…` : written;
  return `${path === '' ? '' : `${path}: `}${shown} is more than a JSON number holds: send it as a text`;
}

const MAX_SHOWN = 60;

/** Whether JSON that `JSON.stringify` has written is nested deeper than `maxLevels`. */
export function isDeeper(text: string, maxLevels: number): boolean {
  if (text.length <= 2 * maxLevels) return false;
  const scanner = new JSONScanner(text, { maxLevels, findsNumbers: false });
  scanner.next();
  return scanner.isTooDeep;
}

/** Characters that are read without a pause: a millisecond. */
const STEP = 200_000;

/** How many lists and objects of such JSON lie within each other. */
export function* levelsIn(text: string): Generator<void, number> {
  const scanner = new JSONScanner(text, { findsNumbers: false });
  for (let stop = STEP; !scanner.isAtEnd; stop += STEP) {
    scanner.next(stop);
    yield;
  }
  return scanner.mostLevels;
}

/** The place of a number in a text. */
interface Found {
  start: number;
  end: number;
}

const SPACE = 0x20;
const QUOTE = 0x22;
const PLUS = 0x2b;
const COMMA = 0x2c;
const MINUS = 0x2d;
const DOT = 0x2e;
const ZERO = 0x30;
const NINE = 0x39;
const COLON = 0x3a;
const CAPITAL_E = 0x45;
const OPEN_LIST = 0x5b;
const BACKSLASH = 0x5c;
const CLOSE_LIST = 0x5d;
const E = 0x65;
const OPEN_OBJECT = 0x7b;
const CLOSE_OBJECT = 0x7d;

/** A double holds every number of so many digits that is neither very large nor very small. */
const SURE_DIGITS = 15;

/**
 * Whether a number of the text may be lossy: more than fifteen digits, or an exponent of three, even within strings. This is several
 * times faster than the scanner, and true for few bodies.
 */
export function hasLongNumber(text: string, from = 0, stop = text.length): boolean {
  let digits = 0;
  for (let at = from; at < stop; at += 1) {
    const code = text.charCodeAt(at);
    if (code >= ZERO && code <= NINE) {
      digits += 1;
      if (digits > SURE_DIGITS) return true;
    } else if (digits > 0 && code !== DOT) {
      if ((code === E || code === CAPITAL_E) && hasLongExponent(text, at)) return true;
      digits = 0;
    }
  }
  return false;
}

function hasLongExponent(text: string, at: number): boolean {
  const sign = text.charCodeAt(at + 1);
  const from = sign === PLUS || sign === MINUS ? at + 2 : at + 1;
  return isDigit(text.charCodeAt(from)) && isDigit(text.charCodeAt(from + 1)) && isDigit(text.charCodeAt(from + 2));
}

interface Scan {
  /** The scan ends where the text is deeper. */
  maxLevels?: number;
  findsNumbers?: boolean;
}

/**
 * Goes through JSON, one character at a time, and finds the numbers that a double does not hold. What it makes of a text that is not
 * JSON does not matter, since the parser refuses that.
 */
export class JSONScanner {
  readonly text: string;
  readonly #maxLevels: number;
  readonly #findsNumbers: boolean;
  /** For each list around the position the index of its element, for each object the place of its key, as `~place`. */
  readonly #keys: number[] = [];
  #mostLevels = 0;
  #string = 0;
  #isInString = false;
  #at = 0;

  constructor(text: string, { maxLevels = Number.POSITIVE_INFINITY, findsNumbers = true }: Scan = {}) {
    this.text = text;
    this.#maxLevels = maxLevels;
    this.#findsNumbers = findsNumbers;
  }

  get isTooDeep(): boolean {
    return this.#keys.length > this.#maxLevels;
  }

  /** How many lists and objects lay within each other at the most, up to here. */
  get mostLevels(): number {
    return this.#mostLevels;
  }

  /** Whether nothing of the text is left. */
  get isAtEnd(): boolean {
    return this.#at >= this.text.length;
  }

  /** Goes on from its place to the next lossy number. Stops at `stop`, even within a string, and where the text is too deep. */
  next(stop = this.text.length): Found | undefined {
    const { text } = this;
    const limit = Math.min(stop, text.length);
    if (this.#isInString) this.#skipString(limit);
    while (this.#at < limit && !this.isTooDeep) {
      const code = text.charCodeAt(this.#at);
      if (code === MINUS || (code >= ZERO && code <= NINE)) {
        const found = this.#readNumber();
        if (found) return found;
      } else this.#readOther(code, limit);
    }
    return undefined;
  }

  #readOther(code: number, limit: number): void {
    if (code === QUOTE) {
      this.#string = this.#at;
      this.#isInString = true;
    }
    this.#at += 1;
    if (code === QUOTE) this.#skipString(limit);
    else if (code > SPACE) this.#readMark(code);
  }

  /** The keys and indexes that lead to the number that was found. */
  get path(): string[] {
    return this.#keys.map((key) => (key < 0 ? this.#stringAt(~key) : String(key)));
  }

  #stringAt(start: number): string {
    const scanner = new JSONScanner(this.text);
    scanner.#at = start + 1;
    scanner.#skipString(this.text.length);
    return String(JSON.parse(this.text.slice(start, scanner.#at)));
  }

  /** Goes on to the end of the string, or to `limit`. */
  #skipString(limit: number): void {
    const { text } = this;
    let at = this.#at;
    while (at < limit) {
      const code = text.charCodeAt(at);
      at += code === BACKSLASH ? 2 : 1;
      if (code === QUOTE) {
        this.#isInString = false;
        break;
      }
    }
    this.#at = at;
  }

  /** Copies no number that has few digits: to copy each of a million numbers would take long. */
  #readNumber(): Found | undefined {
    const { text } = this;
    const start = this.#at;
    let end = start;
    let digits = 0;
    let isLong = false;
    for (; ; end += 1) {
      const code = text.charCodeAt(end);
      if (code >= ZERO && code <= NINE) digits += 1;
      else if (code === E || code === CAPITAL_E) isLong ||= hasLongExponent(text, end);
      else if (code !== DOT && code !== MINUS && code !== PLUS) break;
    }
    this.#at = end;
    if (!this.#findsNumbers || !(isLong || digits > SURE_DIGITS)) return undefined;
    return isExact(text.slice(start, end)) ? undefined : { start, end };
  }

  #open(key: number): void {
    const levels = this.#keys.push(key);
    if (levels > this.#mostLevels) this.#mostLevels = levels;
  }

  #readMark(code: number): void {
    const keys = this.#keys;
    if (code === COMMA) {
      const key = keys[keys.length - 1];
      if (key !== undefined && key >= 0) keys[keys.length - 1] = key + 1;
    } else if (code === COLON) keys[keys.length - 1] = ~this.#string;
    else if (code === OPEN_LIST) this.#open(0);
    else if (code === OPEN_OBJECT) this.#open(~this.#string);
    else if (code === CLOSE_LIST || code === CLOSE_OBJECT) keys.pop();
  }
}

/** Whether a number stands as a value. Others must not be quoted, or a text that is not JSON would become JSON. */
function isValue(text: string, { start, end }: Found): boolean {
  NUMBER.lastIndex = start;
  return NUMBER.test(text) && NUMBER.lastIndex >= end;
}

const NUMBER = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?\s*(?=[,\]}]|$)/y;

function isDigit(code: number): boolean {
  return code >= ZERO && code <= NINE;
}
