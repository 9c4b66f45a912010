import type { Dialect } from '../datasources/define-datasource.ts';
import type { Json, JsonObject } from '../json.ts';
import { type Expression, evaluate, findTemplate, written } from '../workflow/templates.ts';

/** SQL and the values that are bound between its texts: there is one text more than values. */
export interface Statement {
  readonly texts: readonly string[];
  readonly values: readonly Json[];
}

/** What is bound: one value with its type, or a quoted text that values are written into. */
type Slot = { kind: 'value'; expression: Expression } | { kind: 'text'; parts: readonly (string | Expression)[] };

interface Cut {
  readonly texts: readonly string[];
  readonly slots: readonly Slot[];
  readonly faults: readonly string[];
}

/** What a person has to change before the values of a statement's templates can be bound. */
export function statementFaults(sql: string, dialect: Dialect): readonly string[] {
  return cut(sql, dialect).faults;
}

/** The statement with its templates' values bound, never written into the SQL. A faulty one is an error of the program. */
export function bindStatement(sql: string, dialect: Dialect, scope: JsonObject): Statement {
  const { texts, slots, faults } = cut(sql, dialect);
  if (faults.length > 0) throw new Error(`The statement was not checked: ${faults[0]}`);
  const values = slots.map((slot): Json => {
    if (slot.kind === 'value') return evaluate(slot.expression, scope, ROOT) ?? null;
    return slot.parts.map((part) => (typeof part === 'string' ? part : written(evaluate(part, scope, ROOT)))).join('');
  });
  return { texts, values };
}

/**
 * The SQL with a placeholder for each value. A list that stands alone in `in (…)` becomes as many placeholders as it has
 * elements, an empty one NULL, which nothing is in.
 */
export function renderStatement(
  { texts, values }: Statement,
  placeholder: (index: number) => string,
): { sql: string; params: Json[] } {
  const params: Json[] = [];
  let sql = texts[0] ?? '';
  values.forEach((value, index) => {
    const after = texts[index + 1] ?? '';
    const isList = Array.isArray(value) && /\bin\s*\(\s*$/i.test(sql) && /^\s*\)/.test(after);
    const bound = isList ? value : [value];
    const marks = bound.map((one) => placeholder(params.push(one)));
    sql += (marks.length > 0 ? marks.join(', ') : 'NULL') + after;
  });
  return { sql, params };
}

const ROOT = 'inputs';

/** What the scanner is inside of; the end is a text or, for `--`, the end of the line. */
interface Inside {
  kind: 'string' | 'identifier' | 'comment' | 'dollar';
  end: string;
  /** A doubled end is the character itself. */
  doubles: boolean;
  /** A backslash takes the next character's meaning away. */
  backslash: boolean;
  depth: number;
}

function cut(sql: string, dialect: Dialect): Cut {
  const parts = findTemplate(sql)?.parts ?? [sql];
  return new Scanner(dialect).scan(parts);
}

class Scanner {
  readonly #dialect: Dialect;
  readonly #texts: string[] = [''];
  readonly #slots: Slot[] = [];
  readonly #faults = new Set<string>();
  /** The last characters, enough to tell a prefix from the end of a name: looking at the long text would copy it each time. */
  #tail = '';
  #inside: Inside | null = null;
  /** The quoted text under way: where it begins in the last text, and its pieces without quotes. */
  #quoted: { from: number; parts: (string | Expression)[]; hasEscapes: boolean } | null = null;

  constructor(dialect: Dialect) {
    this.#dialect = dialect;
  }

  scan(parts: readonly (string | Expression)[]): Cut {
    for (const part of parts) {
      if (typeof part === 'string') this.#text(part);
      else this.#template(part);
    }
    if (this.#inside?.kind === 'string') this.#faults.add('a quoted text is not closed');
    return { texts: this.#texts, slots: this.#slots, faults: [...this.#faults] };
  }

  #template(expression: Expression): void {
    const { source } = expression;
    if (!this.#inside) {
      this.#slots.push({ kind: 'value', expression });
      this.#texts.push('');
      this.#tail = '';
    } else if (this.#inside.kind === 'string' && this.#quoted) this.#quoted.parts.push(expression);
    // A comment is nobody's business.
    else if (this.#inside.kind === 'comment') this.#write(`{{${source}}}`.replaceAll(/[\r\n]|\*\//g, ' '));
    else
      this.#faults.add(
        this.#inside.kind === 'identifier'
          ? `{{${source}}} stands inside a quoted name: a value cannot be a name`
          : `{{${source}}} stands inside a dollar-quoted text: put it outside`,
      );
  }

  #text(text: string): void {
    let at = 0;
    while (at < text.length) at += this.#inside ? this.#within(text, at, this.#inside) : this.#outside(text, at);
  }

  /** Answers how many characters were taken. */
  #outside(text: string, at: number): number {
    const opened = this.#opens(text, at);
    if (opened) {
      const [inside, length] = opened;
      this.#inside = inside;
      if (inside.kind === 'string') this.#quoted = { from: this.#last().length, parts: [], hasEscapes: false };
      this.#write(text.slice(at, at + length));
      return length;
    }
    const rest = text.slice(at, at + 12);
    const own = this.#hasDollars() ? /^\$\d+/ : /^\?/;
    const found = own.exec(rest)?.[0];
    if (found) this.#faults.add(`write {{inputs.name}} where ${found} stands: placeholders are ours`);
    this.#write(text[at] ?? '');
    return 1;
  }

  #opens(text: string, at: number): [Inside, number] | undefined {
    return (
      this.#opensQuote(text[at] ?? '') ?? this.#opensComment(text.slice(at, at + 2)) ?? this.#opensDollar(text, at)
    );
  }

  #opensQuote(mark: string): [Inside, number] | undefined {
    const isMySQL = this.#dialect === 'mysql';
    if (mark === "'") return [quote(mark, 'string', isMySQL || this.#isEscapeString()), 1];
    if (mark === '"') return [quote(mark, isMySQL ? 'string' : 'identifier', isMySQL), 1];
    if (mark === '`' && (isMySQL || this.#dialect === 'sqlite')) return [quote(mark, 'identifier', false), 1];
    if (mark === '[' && this.#dialect === 'sqlite') return [{ ...quote(']', 'identifier', false), doubles: false }, 1];
    return undefined;
  }

  #opensComment(marks: string): [Inside, number] | undefined {
    if (marks === '/*') return [{ ...comment, end: '*/', depth: 1 }, 2];
    if (marks === '--') return [{ ...comment, end: '\n' }, 2];
    if (marks.startsWith('#') && this.#dialect === 'mysql') return [{ ...comment, end: '\n' }, 1];
    return undefined;
  }

  #opensDollar(text: string, at: number): [Inside, number] | undefined {
    if (text[at] !== '$' || !this.#hasDollars()) return undefined;
    const tag = /^\$(?:[\p{L}_][\p{L}\p{N}_]*)?\$/u.exec(text.slice(at, at + 66))?.[0];
    // Inside of a name a dollar is a letter.
    if (!tag || /[\p{L}\p{N}_$]$/u.test(this.#tail)) return undefined;
    return [{ kind: 'dollar', end: tag, doubles: false, backslash: false, depth: 0 }, tag.length];
  }

  #hasDollars(): boolean {
    return this.#dialect === 'postgresql' || this.#dialect === 'duckdb';
  }

  /** `E'…'` of PostgreSQL. */
  #isEscapeString(): boolean {
    return this.#dialect === 'postgresql' && /(?:^|[^\p{L}\p{N}_$"])[eE]$/u.test(this.#tail);
  }

  #within(text: string, at: number, inside: Inside): number {
    const { end } = inside;
    if (inside.backslash && text[at] === '\\') {
      if (this.#quoted) this.#quoted.hasEscapes = true;
      return this.#keep(text.slice(at, at + 2), '');
    }
    if (inside.depth > 0 && this.#dialect === 'postgresql' && text.startsWith('/*', at)) {
      inside.depth += 1;
      return this.#keep('/*', '');
    }
    if (!text.startsWith(end, at)) return this.#keep(text[at] ?? '', text[at] ?? '');
    if (inside.doubles && text.startsWith(end, at + 1)) return this.#keep(end + end, end);
    this.#write(end);
    inside.depth -= 1;
    if (inside.depth > 0) return end.length;
    this.#inside = null;
    this.#closeQuoted();
    return end.length;
  }

  #keep(written: string, meant: string): number {
    this.#write(written);
    this.#quoted?.parts.push(meant);
    return written.length;
  }

  /** A quoted text with templates is one value: it leaves the SQL with its quotes. */
  #closeQuoted(): void {
    const quoted = this.#quoted;
    this.#quoted = null;
    if (!quoted?.parts.some((part) => typeof part === 'object')) return;
    if (quoted.hasEscapes)
      this.#faults.add('a quoted text with a template cannot have backslash escapes: put them into the value');
    const last = this.#texts.length - 1;
    const before = this.#last().slice(0, quoted.from);
    const fault = literalFault(before.slice(-40), this.#dialect);
    if (fault) this.#faults.add(fault);
    // The prefix of `E'…'` and `N'…'` goes with the quotes.
    this.#texts[last] = /(?:^|[^\p{L}\p{N}_$"])[eEnN]$/u.test(before.slice(-3)) ? before.slice(0, -1) : before;
    this.#slots.push({ kind: 'text', parts: quoted.parts });
    this.#texts.push('');
    this.#tail = '';
  }

  #last(): string {
    return this.#texts.at(-1) ?? '';
  }

  #write(text: string): void {
    this.#texts[this.#texts.length - 1] += text;
    this.#tail = (this.#tail + text).slice(-3);
  }
}

/** A literal that is not only its text cannot have a bound value in the place of that. */
function literalFault(before: string, dialect: Dialect): string | undefined {
  const prefix = /(?:^|[^\p{L}\p{N}_$"])(u&|[bx])$/iu.exec(before)?.[1];
  if (prefix)
    return `a quoted text with a template cannot have the prefix ${prefix}: convert the value with a function`;
  const type = /(?:^|[^\p{L}\p{N}_$".])(date|time|timetz|timestamp|timestamptz|interval)\s*$/iu.exec(before)?.[1];
  // MySQL has no literal of this kind: there it is a word before any value.
  if (!type || (dialect === 'mysql' && type.toLowerCase() === 'interval')) return undefined;
  return `a value cannot stand in ${type} '…': write cast('…' as ${type}) with the same text`;
}

const comment: Inside = { kind: 'comment', end: '', doubles: false, backslash: false, depth: 0 };

function quote(end: string, kind: 'string' | 'identifier', backslash: boolean): Inside {
  return { kind, end, doubles: true, backslash, depth: 0 };
}
