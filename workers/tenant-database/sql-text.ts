import { createTimeSlice, type TimeSlice } from '#shared/concurrency/cooperative.ts';
import { invalidField } from '#shared/core/schema/issues.ts';
import { type SqlToken, tokenize } from '#shared/datasources/queries/sql-tokens.ts';

interface SqlStatement {
  text: string;
  /** First words of the statement, at most four, in capitals. */
  words: string[];
}

/** Tokens between two readings of the clock. */
const STRIDE = 256;

/** Passes the tokens of a text to `onToken` until that returns false. Lets other work of the event loop run in between. */
async function readTokens(sql: string, slice: TimeSlice, onToken: (token: SqlToken) => boolean): Promise<void> {
  let count = 0;
  for (const token of tokenize(sql, 'postgresql')) {
    count += 1;
    if (count % STRIDE === 0 && slice.isOver) await slice.renew();
    if (!onToken(token)) return;
  }
}

/** Splits SQL into its statements; empty ones are left out. Stops after `max + 1`. Lets other work of the event loop run in between. */
export async function splitStatements(sql: string, max: number): Promise<SqlStatement[]> {
  const splitting = new Splitting(sql);
  await readTokens(sql, createTimeSlice(), (token) => {
    splitting.see(token);
    return splitting.statements.length <= max;
  });
  splitting.end();
  return splitting.statements;
}

class Splitting {
  readonly statements: SqlStatement[] = [];
  readonly #sql: string;
  readonly #depth = createDepth();
  #words: string[] = [];
  #isEmpty = true;
  #start = 0;
  #at = 0;

  constructor(sql: string) {
    this.#sql = sql;
  }

  see(token: SqlToken): void {
    const { kind, text } = token;
    if (text === ';' && kind === 'mark' && this.#depth.isOutermost()) this.end();
    else if (kind !== 'space' && kind !== 'comment') {
      this.#isEmpty = false;
      if (kind === 'word' && this.#words.length < 4) this.#words.push(text.toUpperCase());
      this.#depth.see(token, this.#words);
    }
    this.#at += text.length;
  }

  end(): void {
    const text = this.#sql.slice(this.#start, this.#at).trim();
    if (!this.#isEmpty) this.statements.push({ text, words: this.#words });
    this.#words = [];
    this.#isEmpty = true;
    this.#start = this.#at + 1;
    this.#depth.reset();
  }
}

const nesting: Record<string, number> = { '(': 1, ')': -1 };
const blockWords: Record<string, number> = { CASE: 1, END: -1 };

/** Inside parentheses and inside the body of a routine (`begin atomic … end`), `;` does not end a statement. */
function createDepth() {
  let parentheses = 0;
  let blocks = 0;
  let earlier = '';
  return {
    isOutermost: () => parentheses === 0 && blocks === 0,
    reset() {
      parentheses = 0;
      blocks = 0;
      earlier = '';
    },
    see(token: SqlToken, words: readonly string[]) {
      if (token.kind === 'mark') parentheses = Math.max(parentheses + (nesting[token.text] ?? 0), 0);
      // Longer words than `atomic` are not needed, and a word may have megabytes.
      const word = token.kind === 'word' && token.text.length <= 6 ? token.text.toUpperCase() : '';
      if (words[0] === 'CREATE' && earlier === 'BEGIN' && word === 'ATOMIC') blocks += 1;
      else if (blocks > 0) blocks += blockWords[word] ?? 0;
      earlier = word;
    },
  };
}

/** A text of a client that becomes part of our statement, and the field it came in. */
interface Expression {
  text: string;
  field: string;
}

/** Deeper nesting may exceed the stack of Postgres. */
const MAX_PARENTHESES = 200;

/**
 * Requires that each text, which is put between parentheses in our statement, is exactly one expression: it must not end the
 * parentheses, begin a second statement, or hide what follows in a comment. Lets other work of the event loop run in between.
 */
export async function requireExpressions(expressions: readonly Expression[]): Promise<void> {
  const slice = createTimeSlice();
  for (const { text, field } of expressions) {
    const open: string[] = [];
    await readTokens(text, slice, (token) => {
      const fault = faultOf(token, open);
      if (fault) throw invalidField(field, fault);
      return true;
    });
    if (text.trim() === '') throw invalidField(field, 'must not be empty');
    if (open.length > 0) throw invalidField(field, 'has a parenthesis that is not closed');
  }
}

const closing: Record<string, string> = { '(': ')', '[': ']' };

/** `open` has the closing marks of the parentheses that are open. */
function faultOf({ kind, text, isClosed }: SqlToken, open: string[]): string | undefined {
  if (kind === 'comment') return 'must not contain a comment';
  if (!isClosed) return 'has a quotation that is not closed';
  if (kind !== 'mark') return undefined;
  if (text === ';') return 'must be one expression';
  const closes = closing[text];
  if (closes && open.push(closes) > MAX_PARENTHESES) return `has more than ${MAX_PARENTHESES} nested parentheses`;
  if ((text === ')' || text === ']') && open.pop() !== text) return 'has a parenthesis that was not opened';
  return undefined;
}

/** The expression without parentheses around all of it. */
export function withoutParentheses(expression: string): string {
  const text = expression.trim();
  if (!text.startsWith('(') || !text.endsWith(')')) return text;
  const pairs = pairsIn(text);
  let [from, to] = [0, text.length];
  for (;;) {
    while (/\s/.test(text[from] ?? '')) from += 1;
    while (/\s/.test(text[to - 1] ?? '')) to -= 1;
    if (from >= to || pairs.get(from) !== to - 1) return text.slice(from, to);
    from += 1;
    to -= 1;
  }
}

/** Positions of the opening parentheses, each with that of its closing one. */
function pairsIn(text: string): Map<number, number> {
  const pairs = new Map<number, number>();
  const open: number[] = [];
  let at = 0;
  for (const { kind, text: own } of tokenize(text, 'postgresql')) {
    if (kind === 'mark' && own === '(') open.push(at);
    const opened = kind === 'mark' && own === ')' ? open.pop() : undefined;
    if (opened !== undefined) pairs.set(opened, at);
    at += own.length;
  }
  return pairs;
}
