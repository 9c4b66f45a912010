import type { Dialect } from '../types/define-datasource.ts';

export interface SqlToken {
  /**
   * `word`: a name without quotes, a keyword or a number. `string`, `name`: in quotes, with a prefix such as `E` or `U&` where
   * the dialect has it. `dollar`: `$tag$…$tag$`. `mark`: any other character.
   */
  readonly kind: 'word' | 'mark' | 'string' | 'name' | 'dollar' | 'comment' | 'space';
  readonly text: string;
  /** False if the text ends before the quotation or block comment is closed. */
  readonly isClosed: boolean;
}

/** How a dialect delimits strings, quoted names and comments. */
interface Lexicon {
  /** Closing mark of each quote. A doubled closing mark stands for one in the text, except the `]` of SQLite. */
  readonly strings: Readonly<Record<string, string>>;
  readonly names: Readonly<Record<string, string>>;
  /** A backslash escapes the next character of every string. PostgreSQL has this in `E'…'` only. */
  readonly backslashes: boolean;
  readonly prefixes: RegExp | null;
  readonly dollars: boolean;
  readonly nestedComments: boolean;
  readonly lineComment: RegExp;
}

// PostgreSQL ends a comment at either line break, the others at a line feed.
const standard = {
  strings: { "'": "'" },
  names: { '"': '"' },
  backslashes: false,
  prefixes: null,
  dollars: false,
  nestedComments: false,
  lineComment: /--[^\n]*/y,
};

const lexicons: Readonly<Record<Dialect, Lexicon>> = {
  // With `standard_conforming_strings` on, which our connections set.
  postgresql: {
    ...standard,
    prefixes: /(?:[eE](?=')|[uU]&(?=['"]))/y,
    dollars: true,
    nestedComments: true,
    lineComment: /--[^\n\r]*/y,
  },
  mysql: {
    ...standard,
    strings: { "'": "'", '"': '"' },
    names: { '`': '`' },
    backslashes: true,
    lineComment: /(?:--|#)[^\n]*/y,
  },
  sqlite: { ...standard, names: { '"': '"', '`': '`', '[': ']' } },
  duckdb: { ...standard, dollars: true, lineComment: /--[^\n\r]*/y },
};

/** Marks that begin no longer token in any dialect. They share one token object each, since a text may have five million of them. */
const plainMarks: ReadonlyMap<number, SqlToken> = new Map(
  [...';(),=<>+*%^|&!~:{}?@].'].map((text) => [text.charCodeAt(0), { kind: 'mark', text, isClosed: true }]),
);

/** Letters that begin a word, and no string in any dialect. */
const plainLetters: ReadonlySet<number> = new Set(
  [...'abcdfghijklmnopqrstvwxyzABCDFGHIJKLMNOPQRSTVWXYZ_0123456789'].map((letter) => letter.charCodeAt(0)),
);

const space = /\s+/y;
const word = /[A-Za-z_\u0080-\uffff][\w$\u0080-\uffff]*|\d[\w.]*/y;
const dollarTag = /\$(?:[A-Za-z_\u0080-\uffff][\w\u0080-\uffff]*)?\$/y;

/**
 * Splits SQL into tokens as the server's scanner does, in time linear to its length. The texts of the tokens together are the
 * SQL; a token that is not closed extends to its end.
 */
export function* tokenize(sql: string, dialect: Dialect): Generator<SqlToken> {
  const lexicon = lexicons[dialect];
  for (let at = 0; at < sql.length; ) {
    const code = sql.charCodeAt(at);
    const token =
      plainMarks.get(code) ??
      (plainLetters.has(code) ? match(word, 'word', sql, at) : undefined) ??
      match(space, 'space', sql, at) ??
      commentAt(sql, at, lexicon) ??
      quotedAt(sql, at, lexicon) ??
      (lexicon.dollars ? dollarAt(sql, at) : undefined) ??
      match(word, 'word', sql, at) ??
      tokenOf('mark', sql, at, at + 1);
    yield token;
    at += token.text.length;
  }
}

function match(pattern: RegExp, kind: SqlToken['kind'], sql: string, at: number): SqlToken | undefined {
  const length = lengthOf(pattern, sql, at);
  return length > 0 ? tokenOf(kind, sql, at, at + length) : undefined;
}

function lengthOf(pattern: RegExp, sql: string, at: number): number {
  pattern.lastIndex = at;
  return pattern.exec(sql)?.[0].length ?? 0;
}

function tokenOf(kind: SqlToken['kind'], sql: string, from: number, end: number): SqlToken {
  return { kind, text: sql.slice(from, end < 0 ? sql.length : end), isClosed: end >= 0 };
}

function commentAt(sql: string, at: number, { lineComment, nestedComments }: Lexicon): SqlToken | undefined {
  if (!sql.startsWith('/*', at)) return match(lineComment, 'comment', sql, at);
  return tokenOf('comment', sql, at, nestedComments ? endOfNested(sql, at + 2) : endAfter(sql, '*/', at + 2));
}

const commentMark = /\/\*|\*\//g;

/** The index after a comment that may contain others; -1 if the comment is not closed. */
function endOfNested(sql: string, from: number): number {
  commentMark.lastIndex = from;
  let depth = 1;
  for (let found = commentMark.exec(sql); found; found = commentMark.exec(sql)) {
    depth += found[0] === '/*' ? 1 : -1;
    if (depth === 0) return commentMark.lastIndex;
  }
  return -1;
}

function quotedAt(sql: string, at: number, lexicon: Lexicon): SqlToken | undefined {
  const prefix = lexicon.prefixes ? lengthOf(lexicon.prefixes, sql, at) : 0;
  const start = at + prefix;
  const mark = sql[start] ?? '';
  const string = lexicon.strings[mark];
  if (string !== undefined) {
    const hasEscapes = lexicon.backslashes || (prefix === 1 && /e/i.test(sql[at] ?? ''));
    const end = hasEscapes ? endOfEscaped(sql, string, start + 1) : endOfDoubled(sql, string, start + 1);
    return tokenOf('string', sql, at, end);
  }
  const name = lexicon.names[mark];
  if (name === undefined) return undefined;
  return tokenOf('name', sql, at, name === ']' ? endAfter(sql, name, start + 1) : endOfDoubled(sql, name, start + 1));
}

function endAfter(sql: string, mark: string, from: number): number {
  const found = sql.indexOf(mark, from);
  return found < 0 ? -1 : found + mark.length;
}

function endOfDoubled(sql: string, mark: string, from: number): number {
  let at = sql.indexOf(mark, from);
  while (at >= 0 && sql[at + 1] === mark) at = sql.indexOf(mark, at + 2);
  return at < 0 ? -1 : at + 1;
}

const escapedMarks: Readonly<Record<string, RegExp>> = { "'": /''|'|\\[\s\S]?/g, '"': /""|"|\\[\s\S]?/g };

function endOfEscaped(sql: string, mark: string, from: number): number {
  const marks = escapedMarks[mark];
  if (!marks) return -1;
  marks.lastIndex = from;
  for (let found = marks.exec(sql); found; found = marks.exec(sql)) if (found[0] === mark) return marks.lastIndex;
  return -1;
}

function dollarAt(sql: string, at: number): SqlToken | undefined {
  const length = sql[at] === '$' ? lengthOf(dollarTag, sql, at) : 0;
  if (length === 0) return undefined;
  return tokenOf('dollar', sql, at, endAfter(sql, sql.slice(at, at + length), at + length));
}
