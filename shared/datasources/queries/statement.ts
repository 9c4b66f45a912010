import type { Json, JsonObject } from '../../core/json.ts';
import { invalidField } from '../../core/schema/issues.ts';
import {
  type Expression,
  evaluate,
  expressionsOf,
  shownSource,
  type Template,
} from '../../workflow/templates/expressions.ts';
import { fillParts, findTemplate } from '../../workflow/templates/templates.ts';
import type { Dialect } from '../types/define-datasource.ts';
import { type SqlToken, tokenize } from './sql-tokens.ts';

/** SQL, split at its bound values: there is one text more than values. */
export interface Statement {
  readonly texts: readonly string[];
  readonly values: readonly Json[];
}

/** A bound value: one value with its type, or a quoted text into which values are written. */
type Slot = { kind: 'value'; expression: Expression } | { kind: 'text'; parts: readonly (string | Expression)[] };

interface Cut {
  readonly texts: readonly string[];
  readonly slots: readonly Slot[];
  readonly faults: readonly string[];
}

/** Error messages for templates of a statement whose values cannot be bound. A calculation for `runCooperatively`. */
export function* statementFaults(
  sql: string,
  dialect: Dialect,
  template = findTemplate(sql),
): Generator<void, readonly string[]> {
  const { faults } = yield* cut(sql, dialect, template);
  return faults;
}

/**
 * Binds the values of a statement's templates; they are never written into the SQL. Expects a statement without faults. A calculation
 * for `runCooperatively`.
 */
export function* bindStatement(sql: string, dialect: Dialect, scope: JsonObject): Generator<void, Statement> {
  const { texts, slots, faults } = yield* cut(sql, dialect, findTemplate(sql));
  if (faults.length > 0) throw new Error(`The statement was not checked: ${faults[0]}`);
  const values = slots.map((slot): Json => {
    if (slot.kind === 'value') return evaluate(slot.expression, scope, ROOT) ?? null;
    return fillParts(slot.parts, (expression) => evaluate(expression, scope, ROOT));
  });
  return { texts, values };
}

/**
 * Writes the SQL with a placeholder for each value. A list that is alone in `in (…)` becomes one placeholder for each element,
 * an empty list NULL, which matches no row.
 */
export function renderStatement(
  { texts, values }: Statement,
  placeholder: (index: number) => string,
): { sql: string; params: Json[] } {
  const params: Json[] = [];
  let sql = texts[0] ?? '';
  values.forEach((value, index) => {
    const after = texts[index + 1] ?? '';
    // Searches only the text since the previous value: searching all of the SQL for each value would take quadratic time.
    const isList = Array.isArray(value) && /\bin\s*\(\s*$/i.test(texts[index] ?? '') && /^\s*\)/.test(after);
    const bound = isList ? value : [value];
    const marks = bound.map((param) => placeholder(params.push(param)));
    sql += (marks.length > 0 ? marks.join(', ') : 'NULL') + after;
  });
  return { sql, params };
}

const ROOT = 'inputs';

/** Tokens between two points at which the calculation may pause. */
const STRIDE = 256;

function* cut(sql: string, dialect: Dialect, template: Template | undefined): Generator<void, Cut> {
  const parts = template?.parts ?? [sql];
  const hole = unusedCharacter(sql);
  const expressions = [...expressionsOf(template)];
  const joined = parts.map((part) => (typeof part === 'string' ? part : hole)).join('');
  const cutting = new Cutting(dialect, hole, expressions);
  let count = 0;
  for (const token of tokenize(joined, dialect)) {
    cutting.see(token);
    count += 1;
    if (count % STRIDE === 0) yield;
  }
  return cutting;
}

/** Finds a character to stand for templates while the SQL is read: it is not part of a word and does not occur in the SQL. */
function unusedCharacter(sql: string): string {
  for (let code = 1; code < 32; code += 1) {
    const character = String.fromCharCode(code);
    if (!/\s/.test(character) && !sql.includes(character)) return character;
  }
  throw invalidField('query', 'has too many different control characters');
}

class Cutting implements Cut {
  readonly texts: string[] = [''];
  readonly slots: Slot[] = [];
  readonly #faults = new Set<string>();
  readonly #dialect: Dialect;
  readonly #hole: string;
  readonly #expressions: readonly Expression[];
  #seen = 0;
  #before: SqlToken | undefined;

  constructor(dialect: Dialect, hole: string, expressions: readonly Expression[]) {
    this.#dialect = dialect;
    this.#hole = hole;
    this.#expressions = expressions;
  }

  get faults(): readonly string[] {
    return [...this.#faults];
  }

  see(token: SqlToken): void {
    if (token.kind === 'string' && !token.isClosed) this.#faults.add('a quoted text is not closed');
    if (token.text === this.#hole) this.#bind({ kind: 'value', expression: this.#nextExpression() });
    else if (token.text.includes(this.#hole)) this.#seeTemplateIn(token);
    else {
      const own = this.#placeholderIn(token);
      if (own) this.#faults.add(`write {{inputs.name}} instead of the placeholder ${own}`);
      this.#write(token.text);
    }
    this.#before = token;
  }

  /** Finds a placeholder of the server's own, such as `$1` or `?`. */
  #placeholderIn({ kind, text }: SqlToken): string | undefined {
    if (this.#dialect === 'mysql' || this.#dialect === 'sqlite')
      return kind === 'mark' && text === '?' ? '?' : undefined;
    const isNumbered = kind === 'word' && this.#before?.text === '$' && this.#before.kind === 'mark';
    const digits = isNumbered ? /^\d+/.exec(text)?.[0] : undefined;
    return digits && `$${digits}`;
  }

  #seeTemplateIn(token: SqlToken): void {
    const [first = '', ...rest] = token.text.split(this.#hole);
    const expressions = rest.map(() => this.#nextExpression());
    if (token.kind === 'string') return this.#bindString(token, expressions);
    // A comment is not executed: its templates stay as they are written, but cannot end it.
    const written = expressions.map(({ source }) => `{{${source}}}`.replaceAll(/[\r\n]|\*\//g, ' '));
    this.#write(first + rest.map((text, index) => `${written[index]}${text}`).join(''));
    if (token.kind === 'comment') return;
    for (const { source } of expressions)
      this.#faults.add(
        token.kind === 'name'
          ? `${shownSource(source)} stands inside a quoted name: a value cannot be a name`
          : `${shownSource(source)} stands inside a dollar-quoted text: put it outside`,
      );
  }

  /** Binds a quoted text with templates as one value, in the place of the text and its quotes. */
  #bindString({ text, isClosed }: SqlToken, expressions: readonly Expression[]): void {
    const [, prefix = '', mark = ''] = /^([^'"]*)(['"])/.exec(text) ?? [];
    const inside = text.slice(prefix.length + 1, isClosed ? -1 : undefined);
    const isEscaping = this.#dialect === 'mysql' || /^e$/i.test(prefix);
    if (isEscaping && inside.includes('\\'))
      this.#faults.add('a quoted text with a template cannot have backslash escapes: put them into the value');
    const before = this.#last() + prefix;
    const fault = literalFault(before.slice(-40), this.#dialect);
    if (fault) this.#faults.add(fault);
    // The prefix of `E'…'` and `N'…'` goes with the quotes.
    this.texts[this.texts.length - 1] = /(?:^|[^\p{L}\p{N}_$"])[eEnN]$/u.test(before.slice(-3))
      ? before.slice(0, -1)
      : before;
    const parts = inside
      .split(this.#hole)
      .flatMap((piece, index) => [
        ...(index > 0 ? expressions.slice(index - 1, index) : []),
        piece.replaceAll(mark + mark, mark),
      ]);
    this.#bind({ kind: 'text', parts });
  }

  #bind(slot: Slot): void {
    this.slots.push(slot);
    this.texts.push('');
  }

  #nextExpression(): Expression {
    const expression = this.#expressions[this.#seen];
    this.#seen += 1;
    if (!expression) throw new Error('A statement has more places for templates than templates');
    return expression;
  }

  #last(): string {
    return this.texts.at(-1) ?? '';
  }

  #write(text: string): void {
    this.texts[this.texts.length - 1] += text;
  }
}

/** Fault of a literal with a prefix or a type: a bound value cannot replace its text. */
function literalFault(before: string, dialect: Dialect): string | undefined {
  const prefix = /(?:^|[^\p{L}\p{N}_$"])(u&|[bx])$/iu.exec(before)?.[1];
  if (prefix)
    return `a quoted text with a template cannot have the prefix ${prefix}: convert the value with a function`;
  const type = /(?:^|[^\p{L}\p{N}_$".])(date|time|timetz|timestamp|timestamptz|interval)\s*$/iu.exec(before)?.[1];
  // MySQL has no literal of this kind: there INTERVAL is a keyword before any value.
  if (!type || (dialect === 'mysql' && type.toLowerCase() === 'interval')) return undefined;
  return `a value cannot be used in ${type} '…': write cast('…' as ${type}) instead`;
}
