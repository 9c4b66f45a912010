import { type SqlToken, tokenize } from '#shared/datasources/queries/sql-tokens.ts';

/** A statement by its place in the SQL. */
export interface StatementSpan {
  start: number;
  end: number;
  /** First words of the statement, at most four, in capitals. Long words are cut, since a word may have megabytes. */
  words: string[];
}

/** Finds the statements of SQL; empty ones are left out. Stops after `max + 1`. */
export function findStatements(sql: string, max: number): StatementSpan[] {
  const splitting = new Splitting();
  for (const token of tokenize(sql, 'postgresql')) {
    splitting.see(token);
    if (splitting.statements.length > max) break;
  }
  splitting.end();
  return splitting.statements;
}

const MAX_WORD = 100;

class Splitting {
  readonly statements: StatementSpan[] = [];
  readonly #depth = createDepth();
  #words: string[] = [];
  #isEmpty = true;
  #start = 0;
  #at = 0;

  see(token: SqlToken): void {
    const { kind, text } = token;
    if (text === ';' && kind === 'mark' && this.#depth.isOutermost()) this.end();
    else if (kind !== 'space' && kind !== 'comment') {
      this.#isEmpty = false;
      if (kind === 'word' && this.#words.length < 4) this.#words.push(text.slice(0, MAX_WORD).toUpperCase());
      this.#depth.see(token, this.#words);
    }
    this.#at += text.length;
  }

  end(): void {
    if (!this.#isEmpty) {
      this.statements.push({ start: this.#start, end: this.#at, words: this.#words });
      this.#words = [];
      this.#isEmpty = true;
      this.#depth.reset();
    }
    this.#start = this.#at + 1;
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

/** Deeper nesting may exceed the stack of Postgres. */
const MAX_PARENTHESES = 200;

/** Why a text is not exactly one expression; null if it is one. */
export function faultOfExpression(text: string): string | null {
  const open: string[] = [];
  for (const token of tokenize(text, 'postgresql')) {
    const fault = faultOf(token, open);
    if (fault) return fault;
  }
  if (text.trim() === '') return 'must not be empty';
  return open.length > 0 ? 'has a parenthesis that is not closed' : null;
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
