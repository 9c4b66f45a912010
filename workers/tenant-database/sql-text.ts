import { AppError } from '#shared/errors.ts';

interface Token {
  /** `word`: a name or keyword. `mark`: one character that is none of the others. */
  kind: 'word' | 'mark' | 'quoted' | 'comment' | 'space';
  text: string;
}

/**
 * As the server's own scanner reads it, with `standard_conforming_strings` on. Every text has a reading: what is not closed
 * goes on to its end, and the server says so.
 */
const scanner =
  /(?<space>\s+)|(?<comment>--[^\n\r]*)|(?<quoted>[eE]'(?:[^'\\]+|\\[\s\S]|'')*(?:'|$)|(?:[uU]&)?'(?:[^']+|'')*(?:'|$)|(?:[uU]&)?"(?:[^"]+|"")*(?:"|$)|\$(?<tag>(?:[A-Za-z_\u0080-\uffff][\w\u0080-\uffff]*)?)\$[\s\S]*?(?:\$\k<tag>\$|$))|(?<word>[A-Za-z_\u0080-\uffff][\w$\u0080-\uffff]*|\d[\w.]*)|(?<mark>[\s\S])/y;

function* scan(sql: string): Generator<Token> {
  for (let at = 0; at < sql.length; ) {
    const end = sql.startsWith('/*', at) ? endOfComment(sql, at) : undefined;
    if (end !== undefined) {
      yield { kind: 'comment', text: sql.slice(at, end) };
      at = end;
      continue;
    }
    scanner.lastIndex = at;
    const { groups, 0: text } = scanner.exec(sql) as RegExpExecArray;
    const kind = (['word', 'quoted', 'space', 'comment', 'mark'] as const).find((name) => groups?.[name] !== undefined);
    yield { kind: kind ?? 'mark', text };
    at += text.length;
  }
}

/** Comments are nested. */
function endOfComment(sql: string, start: number): number {
  let depth = 0;
  for (let at = start; at < sql.length; at += 1) {
    if (sql.startsWith('/*', at)) {
      depth += 1;
      at += 1;
    } else if (sql.startsWith('*/', at)) {
      depth -= 1;
      at += 1;
      if (depth === 0) return at + 1;
    }
  }
  return sql.length;
}

interface Statement {
  text: string;
  /** Its first words, in capitals. */
  words: string[];
}

/** One after the other, without what lies between them. */
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
  for (const token of scan(sql)) {
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

/** Inside parentheses, and inside the body of a routine that is written as statements (`begin atomic … end`), `;` ends nothing. */
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
    see(token: Token, words: readonly string[]) {
      if (token.kind === 'mark') parentheses = Math.max(parentheses + (nesting[token.text] ?? 0), 0);
      const word = token.kind === 'word' ? token.text.toUpperCase() : '';
      if (words[0] === 'CREATE' && earlier === 'BEGIN' && word === 'ATOMIC') blocks += 1;
      else if (blocks > 0) blocks += blockWords[word] ?? 0;
      earlier = word;
    },
  };
}

/**
 * What will stand between parentheses in a statement of ours. It may be any expression, and nothing but one: no way out of the
 * parentheses, no second statement, no comment that hides what follows.
 */
export function requireExpression(text: string, field: string): string {
  const open: string[] = [];
  for (const token of scan(text)) {
    const fault = faultOf(token, open);
    if (fault) throw new AppError('VALIDATION_ERROR', `${field}: ${fault}`);
  }
  if (text.trim() === '') throw new AppError('VALIDATION_ERROR', `${field}: is empty`);
  if (open.length > 0) throw new AppError('VALIDATION_ERROR', `${field}: has a parenthesis that is not closed`);
  return text.trim();
}

const closing: Record<string, string> = { '(': ')', '[': ']' };

/** `open` holds what closes the parentheses that are open. */
function faultOf({ kind, text }: Token, open: string[]): string | undefined {
  if (kind === 'comment') return 'may hold no comment';
  if (kind === 'quoted' && !isClosed(text)) return 'has a quotation that is not closed';
  if (kind !== 'mark') return undefined;
  if (text === ';') return 'must be one expression';
  const closes = closing[text];
  if (closes) open.push(closes);
  if ((text === ')' || text === ']') && open.pop() !== text) return 'has a parenthesis that was not opened';
  return undefined;
}

function isClosed(quoted: string): boolean {
  if (quoted.startsWith('$')) {
    const tag = /^\$[^$]*\$/.exec(quoted)?.[0] ?? '$';
    return quoted.length >= 2 * tag.length && quoted.endsWith(tag);
  }
  const [, mark = "'", body = ''] = /^(?:[eE]|[uU]&)?(['"])([\s\S]*)$/.exec(quoted) ?? [];
  if (!body.endsWith(mark)) return false;
  const inside = body.slice(0, -1);
  const isEscaping = /^[eE]/.test(quoted);
  const plain = isEscaping ? inside.replace(/\\[\s\S]/g, '') : inside;
  return (plain.split(mark).length - 1) % 2 === 0 && !(isEscaping && plain.endsWith('\\'));
}
