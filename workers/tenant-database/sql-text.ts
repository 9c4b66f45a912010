import { invalidField } from '#shared/core/schema/issues.ts';
import { tokenize } from '#shared/datasources/queries/sql-tokens.ts';
import { faultOfExpression, findStatements } from './read-sql.ts';
import { inSQLThread } from './sql-thread.ts';

interface SqlStatement {
  text: string;
  /** First words of the statement, at most four, in capitals. */
  words: string[];
}

/** Characters that are read in this thread: 4 ms if each is a token. */
const MAX_HERE = 50_000;

/** Splits SQL into its statements; empty ones are left out. Stops after `max + 1`. Long SQL is read in a thread of its own. */
export async function splitStatements(sql: string, max: number): Promise<SqlStatement[]> {
  const found =
    sql.length <= MAX_HERE ? findStatements(sql, max) : await inSQLThread({ work: 'findStatements', text: sql, max });
  return found.map(({ start, end, words }) => ({ text: sql.slice(start, end).trim(), words }));
}

/** A text of a client that becomes part of our statement, and the field it came in. */
interface Expression {
  text: string;
  field: string;
}

/**
 * Requires that each text, which is put between parentheses in our statement, is exactly one expression: it must not end the
 * parentheses, begin a second statement, or hide what follows in a comment. Long texts are read in a thread of their own.
 */
export async function requireExpressions(expressions: readonly Expression[]): Promise<void> {
  for (const { text, field } of expressions) {
    const fault =
      text.length <= MAX_HERE ? faultOfExpression(text) : await inSQLThread({ work: 'faultOfExpression', text });
    if (fault) throw invalidField(field, fault);
  }
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
