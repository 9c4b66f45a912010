import { type SqlToken, tokenize } from '#shared/queries/sql-tokens.ts';
import { invalidField } from '#shared/workflow/issues.ts';

interface Statement {
  text: string;
  /** Its first words, in capitals. */
  words: string[];
}

/** Splits SQL into its statements; empty ones are left out. */
export function splitStatements(sql: string): Statement[] {
  const statements: Statement[] = [];
  let text = '';
  let words: string[] = [];
  const depth = createDepth();
  const end = () => {
    if (text.trim() !== '' && hasMore) statements.push({ text: text.trim(), words });
    text = '';
    words = [];
    hasMore = false;
    depth.reset();
  };
  let hasMore = false;
  for (const token of tokenize(sql, 'postgresql')) {
    if (token.text === ';' && token.kind === 'mark' && depth.isOutermost()) {
      end();
      continue;
    }
    text += token.text;
    if (token.kind === 'space' || token.kind === 'comment') continue;
    hasMore = true;
    if (token.kind === 'word' && words.length < 4) words.push(token.text.toUpperCase());
    depth.see(token, words);
  }
  end();
  return statements;
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
      const word = token.kind === 'word' ? token.text.toUpperCase() : '';
      if (words[0] === 'CREATE' && earlier === 'BEGIN' && word === 'ATOMIC') blocks += 1;
      else if (blocks > 0) blocks += blockWords[word] ?? 0;
      earlier = word;
    },
  };
}

/**
 * Requires that a text, which is put between parentheses in our statement, is exactly one expression: it must not end the
 * parentheses, begin a second statement, or hide what follows in a comment.
 */
export function requireExpression(text: string, field: string): string {
  const open: string[] = [];
  for (const token of tokenize(text, 'postgresql')) {
    const fault = faultOf(token, open);
    if (fault) throw invalidField(field, fault);
  }
  if (text.trim() === '') throw invalidField(field, 'must not be empty');
  if (open.length > 0) throw invalidField(field, 'has a parenthesis that is not closed');
  return text.trim();
}

const closing: Record<string, string> = { '(': ')', '[': ']' };

/** `open` has the closing marks of the parentheses that are open. */
function faultOf({ kind, text, isClosed }: SqlToken, open: string[]): string | undefined {
  if (kind === 'comment') return 'must not contain a comment';
  if (!isClosed) return 'has a quotation that is not closed';
  if (kind !== 'mark') return undefined;
  if (text === ';') return 'must be one expression';
  const closes = closing[text];
  if (closes) open.push(closes);
  if ((text === ')' || text === ']') && open.pop() !== text) return 'has a parenthesis that was not opened';
  return undefined;
}
