import type { Json } from './json.ts';

/** The depth that is accepted in responses of other servers and results of user code. Code that walks through values calls itself for each level. */
export const MAX_LEVELS = 500;

/** The error for a text that is nested deeper than allowed. */
export class TooDeep extends Error {}

interface Reading {
  /** A deeper text is refused before it is parsed. */
  maxLevels: number;
  /** Whether a number becomes a text, because a double does not hold it. `written` has at least 16 digits, or an exponent. */
  losesPrecision(value: number, written: string): boolean;
}

/**
 * Parses JSON that others have written, in time linear to its length. `JSON.parse` with a function that sees each number takes seconds
 * for an object of 500,000 keys, so the numbers are found and quoted in the text.
 */
export function readJSON(text: string, { maxLevels, losesPrecision }: Reading): Json {
  const mayLose = /\d{16}|\d[eE]|\d\.\d{15}/.test(text);
  if (!mayLose && text.length <= 2 * maxLevels) return JSON.parse(text);
  const quoted: string[] = [];
  let from = 0;
  const isShallow = isWithin(text, maxLevels, (start, end) => {
    if (!mayLose || !isNumber(text, start, end)) return;
    const written = text.slice(start, end);
    if (!losesPrecision(Number(written), written)) return;
    quoted.push(text.slice(from, start), written);
    from = end;
  });
  if (!isShallow) throw new TooDeep();
  return JSON.parse(quoted.length === 0 ? text : [...quoted, text.slice(from)].join('"'));
}

/** Whether JSON that `JSON.stringify` has written is nested deeper than `maxLevels`. */
export function isDeeper(text: string, maxLevels: number): boolean {
  return text.length > 2 * maxLevels && !isWithin(text, maxLevels);
}

const QUOTE = 0x22;
const PLUS = 0x2b;
const MINUS = 0x2d;
const DOT = 0x2e;
const ZERO = 0x30;
const NINE = 0x39;
const BACKSLASH = 0x5c;

/** Whether a text has at most `maxLevels` levels. Calls `onNumber` with the positions of numbers that a double may not hold. */
function isWithin(text: string, maxLevels: number, onNumber?: (start: number, end: number) => void): boolean {
  let level = 0;
  for (let at = 0; at < text.length && level <= maxLevels; at += 1) {
    const code = text.charCodeAt(at);
    if (code === QUOTE) at = endOfString(text, at);
    else if (isOpening(code)) level += 1;
    else if (isClosing(code)) level -= 1;
    else if (code === MINUS || isDigit(code)) {
      const end = endOfNumber(text, at);
      if (end - at > 3) onNumber?.(at, end);
      at = end - 1;
    }
  }
  return level <= maxLevels;
}

/** The index of the closing quote. */
function endOfString(text: string, start: number): number {
  for (let at = start + 1; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    if (code === QUOTE) return at;
    if (code === BACKSLASH) at += 1;
  }
  return text.length;
}

function endOfNumber(text: string, start: number): number {
  let end = start + 1;
  while (isOfNumber(text.charCodeAt(end))) end += 1;
  return end;
}

/** Whether the characters are a number that stands as a value. Others must not be quoted, or a text that is not JSON would become JSON. */
function isNumber(text: string, start: number, end: number): boolean {
  NUMBER.lastIndex = start;
  return NUMBER.test(text) && NUMBER.lastIndex >= end;
}

const NUMBER = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?\s*(?=[,\]}]|$)/y;

function isOpening(code: number): boolean {
  return code === 0x5b || code === 0x7b;
}

function isClosing(code: number): boolean {
  return code === 0x5d || code === 0x7d;
}

function isDigit(code: number): boolean {
  return code >= ZERO && code <= NINE;
}

function isOfNumber(code: number): boolean {
  return isDigit(code) || code === DOT || code === PLUS || code === MINUS || code === 0x45 || code === 0x65;
}
