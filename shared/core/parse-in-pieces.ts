import { TooDeep } from './lossless-json.ts';
import { setKey } from './record.ts';

/** Characters that are parsed without a pause: 5 ms, for a list of empty objects or an object of many keys. */
const PIECE = 100_000;

/** Members of one list or object that have just been parsed, the path to it, and how many members of a list were before. */
export interface ParsedPart {
  members: object;
  path: readonly string[];
  offset: number;
}

/** The error for an object with more keys than allowed, and the path to it. */
export class TooManyKeys extends Error {
  readonly path: string[];

  constructor(path: string[]) {
    super('An object has too many keys');
    this.path = path;
  }
}

/** The error for a text with more values than allowed. */
export class TooManyParts extends Error {}

interface Options {
  /** Deeper JSON is refused with TooDeep before it is parsed. */
  maxLevels?: number;
  /** An object with more keys is refused with TooManyKeys before it is parsed. */
  maxKeys?: number;
  /** A text whose lists and objects have more elements and fields together is refused with TooManyParts before it is parsed. */
  maxParts?: number;
  onPart?(part: ParsedPart): void;
}

/**
 * Parses long JSON in pieces, with a pause after each. A thread could not do it instead: to receive the value from there takes
 * longer than to parse it. Lists and objects that are longer than a piece are put together from parts. Throws SyntaxError.
 */
export function* parseInPieces(text: string, options: Options = {}): Generator<void, unknown> {
  const root = yield* findParts(text, options);
  if (root) return yield* new Building(text, options).build(root, []);
  const value: unknown = JSON.parse(text);
  if (typeof value === 'object' && value !== null) options.onPart?.({ members: value, path: [], offset: 0 });
  return value;
}

/** Deeper than any value that is stored. */
const MAX_LEVELS = 1_000;
/** No limit. */
const MOST = Number.POSITIVE_INFINITY;

/** A list or an object that is longer than a piece. */
interface Large {
  start: number;
  end: number;
  isList: boolean;
  parts: Part[];
}

/** Members of a list or an object, from a comma to a later one; or one member whose value is large. */
interface Part {
  from: number;
  to: number;
  large?: Large;
}

function hasLarge(part: Part): part is Required<Part> {
  return part.large !== undefined;
}

const QUOTE = 0x22;
const COMMA = 0x2c;
const OPEN_LIST = 0x5b;
const BACKSLASH = 0x5c;
const CLOSE_LIST = 0x5d;
const OPEN_OBJECT = 0x7b;
const CLOSE_OBJECT = 0x7d;

/** A list or an object around the current place. */
interface Open {
  start: number;
  isList: boolean;
  /** How many members are before the present one. */
  before: number;
  /** Where the part begins that is not complete. */
  from: number;
  /** Where the present member begins. */
  member: number;
  /** The large value of the present member. */
  large: Large | undefined;
  parts: Part[] | undefined;
}

/** Finds the parts of the list or object that the text is; undefined if it is none, or not large. What is not JSON is found later. */
function* findParts(text: string, options: Options): Generator<void, Large | undefined> {
  const finder = new Finder(text, options);
  for (let stop = PIECE; !finder.isAtEnd; stop += PIECE) {
    finder.readTo(stop);
    yield;
  }
  return finder.end();
}

class Finder {
  readonly #text: string;
  readonly #maxLevels: number;
  readonly #maxKeys: number;
  readonly #maxParts: number;
  #parts = 0;
  /** Those around the place are the first `#depth`. The others are used again, so that a million small objects make no garbage. */
  readonly #open: Open[] = [];
  #depth = 0;
  #root: Large | undefined;
  #at = 0;
  #isInString = false;

  constructor(text: string, { maxLevels = MAX_LEVELS, maxKeys = MOST, maxParts = MOST }: Options) {
    this.#text = text;
    this.#maxLevels = maxLevels;
    this.#maxKeys = maxKeys;
    this.#maxParts = maxParts;
  }

  get isAtEnd(): boolean {
    return this.#at >= this.#text.length;
  }

  /** Reads up to `stop`, which may be within a string: one of five megabytes takes 10 to 60 ms. */
  readTo(stop: number): void {
    const text = this.#text;
    const limit = Math.min(stop, text.length);
    for (; this.#at < limit; this.#at += 1) {
      const code = text.charCodeAt(this.#at);
      if (this.#isInString) this.#readInString(code);
      else if (code === QUOTE) this.#isInString = true;
      else if (code === COMMA) this.#endMember();
      else if (code === OPEN_LIST || code === OPEN_OBJECT) this.#begin(code === OPEN_LIST);
      else if (code === CLOSE_LIST || code === CLOSE_OBJECT) this.#close(code === CLOSE_LIST);
    }
  }

  end(): Large | undefined {
    const root = this.#root;
    if (this.#depth > 0) throw new SyntaxError('Unexpected end of JSON input');
    if (root && !isBlank(this.#text, 0, root.start)) throw syntaxError(this.#text, 0);
    if (root && !isBlank(this.#text, root.end, this.#text.length)) throw syntaxError(this.#text, root.end);
    return root;
  }

  #readInString(code: number): void {
    if (code === BACKSLASH) this.#at += 1;
    else if (code === QUOTE) this.#isInString = false;
  }

  /** Ends a part at a comma if it is long enough. */
  #endMember(): void {
    this.#countPart();
    if (this.#depth === 0) return;
    const top = this.#open[this.#depth - 1] as Open;
    if (top.large || this.#at - top.from >= PIECE) endPart(top, this.#at);
    top.member = this.#at + 1;
    top.before += 1;
    // A list may have as many members as its text has room for.
    if (top.before >= this.#maxKeys && !top.isList) throw new TooManyKeys(this.#path());
  }

  /** The path to the list or object around the place. */
  #path(): string[] {
    return this.#open
      .slice(0, this.#depth - 1)
      .map(({ isList, before, member }) => (isList ? String(before) : keyAt(this.#text, member)));
  }

  /** Counts a member by the comma or the bracket before it: an empty list counts as one that has a member. */
  #countPart(): void {
    this.#parts += 1;
    if (this.#parts > this.#maxParts) throw new TooManyParts();
  }

  #begin(isList: boolean): void {
    this.#countPart();
    const start = this.#at;
    const used = this.#open[this.#depth];
    if (used) {
      used.start = start;
      used.isList = isList;
      used.before = 0;
      used.from = start + 1;
      used.member = start + 1;
      used.large = undefined;
      used.parts = undefined;
    } else
      this.#open.push({
        ...{ start, isList, before: 0 },
        ...{ from: start + 1, member: start + 1, large: undefined, parts: undefined },
      });
    this.#depth += 1;
    if (this.#depth > this.#maxLevels) throw new TooDeep();
  }

  #close(isList: boolean): void {
    const closed = this.#open[this.#depth - 1];
    if (!closed || closed.isList !== isList) throw syntaxError(this.#text, this.#at);
    this.#depth -= 1;
    const large = close(closed, this.#at);
    const parent = this.#open[this.#depth - 1];
    if (large && parent) beginPart(parent, large);
    else if (large) this.#root ??= large;
  }
}

function endPart(top: Open, to: number): void {
  top.parts ??= [];
  top.parts.push({ from: top.from, to, ...(top.large && { large: top.large }) });
  top.large = undefined;
  top.from = to + 1;
}

/** Makes the present member, whose value is large, a part of its own. */
function beginPart(parent: Open, large: Large): void {
  if (parent.member > parent.from) endPart(parent, parent.member - 1);
  parent.large = large;
}

function close(closed: Open, at: number): Large | undefined {
  if (at - closed.start <= PIECE) return undefined;
  endPart(closed, at);
  return { start: closed.start, end: at + 1, isList: closed.isList, parts: closed.parts ?? [] };
}

const KEY = /[ \t\n\r]*("(?:[^"\\]|\\.)*")/y;

/** The key of the member that begins there; empty if the text is no JSON there. */
function keyAt(text: string, member: number): string {
  KEY.lastIndex = member;
  const [, written] = KEY.exec(text) ?? [];
  try {
    return JSON.parse(written ?? '""');
  } catch {
    return '';
  }
}

const BLANK = /[ \t\n\r]*/y;

function isBlank(text: string, from: number, to: number): boolean {
  BLANK.lastIndex = from;
  BLANK.test(text);
  return BLANK.lastIndex >= to;
}

/** A list or an object that is being put together. */
type Made = unknown[] | Record<string, unknown>;

class Building {
  readonly #text: string;
  readonly #options: Options;

  constructor(text: string, options: Options) {
    this.#text = text;
    this.#options = options;
  }

  *build({ isList, parts }: Large, path: string[]): Generator<void, unknown> {
    const made: Made = isList ? [] : {};
    for (const part of parts) {
      if (hasLarge(part)) yield* this.#addLarge(made, part, path);
      else yield* this.#addMembers(made, { part, isOnly: parts.length === 1, path });
      yield;
    }
    return made;
  }

  *#addLarge(made: Made, part: Required<Part>, path: string[]): Generator<void, void> {
    const { from, to, large } = part;
    const key = Array.isArray(made) ? String(made.length) : this.#keyOf(part, large);
    if (Array.isArray(made)) this.#requireBlank(from, large.start);
    this.#requireBlank(large.end, to);
    const value = yield* this.build(large, [...path, key]);
    if (Array.isArray(made)) made.push(value);
    else setKey(made, key, value);
  }

  *#addMembers(
    made: Made,
    { part, isOnly, path }: { part: Part; isOnly: boolean; path: string[] },
  ): Generator<void, void> {
    const members = this.#parse(part, { isList: Array.isArray(made), isOnly });
    yield;
    this.#options.onPart?.({ members, path, offset: Array.isArray(made) ? made.length : 0 });
    if (Array.isArray(made)) for (const member of Object.values(members)) made.push(member);
    else for (const key of Object.keys(members)) setKey(made, key, Reflect.get(members, key));
  }

  /** Parses members. Between commas there must be some. */
  #parse({ from, to }: Part, { isList, isOnly }: { isList: boolean; isOnly: boolean }): object {
    const text = this.#text.slice(from, to);
    const members = this.#parsePiece(isList ? `[${text}]` : `{${text}}`, from - 1);
    if (!isOnly && isBlank(text, 0, text.length)) throw syntaxError(this.#text, to);
    return members;
  }

  #keyOf({ from }: Part, { start }: Large): string {
    const [key, ...others] = Object.keys(this.#parsePiece(`{${this.#text.slice(from, start)}0}`, from - 1));
    if (key === undefined || others.length > 0) throw syntaxError(this.#text, start);
    return key;
  }

  #requireBlank(from: number, to: number): void {
    if (!isBlank(this.#text, from, to)) throw syntaxError(this.#text, from);
  }

  /** Parses a list or an object. Its first character, a bracket, stands for the one at `offset`; errors name places in the whole text. */
  #parsePiece(piece: string, offset: number): object {
    try {
      return JSON.parse(piece);
    } catch (error) {
      const [, position] = /position (\d+)/.exec((error as SyntaxError).message) ?? [];
      throw syntaxError(this.#text, offset + Number(position ?? 1));
    }
  }
}

/** With the place as `JSON.parse` names it. */
function syntaxError(text: string, position: number): SyntaxError {
  let line = 1;
  let start = 0;
  for (let at = text.indexOf('\n'); at >= 0 && at < position; at = text.indexOf('\n', at + 1)) {
    line += 1;
    start = at + 1;
  }
  const column = position - start + 1;
  return new SyntaxError(`Unexpected token in JSON at position ${position} (line ${line} column ${column})`);
}
