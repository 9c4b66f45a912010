import { isJsonObject, type JsonObject } from '#shared/core/json.ts';
import { type SqlToken, tokenize } from '#shared/datasources/queries/sql-tokens.ts';
import { tenantdb } from '#shared/datasources/types/tenantdb.ts';
import type { BundledType } from './bundle-types.ts';

/** The tables of the tenant's own database that a query names, as its SQL writes them. No bundle has tables. */
export function tablesIn(type: BundledType, { datasourceType, dataQueryOptions }: JsonObject): string[] {
  if (type !== 'dataQuery' || datasourceType !== tenantdb.type) return [];
  const query = isJsonObject(dataQueryOptions) ? dataQueryOptions.query : undefined;
  return typeof query === 'string' ? tablesInSQL(query) : [];
}

/** Names that a bundle lists for one query. */
const MAX_TABLES = 100;

/** Words before the name of a table. */
const openers: ReadonlySet<string> = new Set(['from', 'join', 'into', 'update', 'table', 'truncate', 'using']);
/** Words between such a word and the name. */
const fillers: ReadonlySet<string> = new Set(['only', 'lateral', 'if', 'not', 'exists', 'table']);
/** Words before `update` or `from` that are no statement: `for update`, `do update`, `is distinct from`. */
const notBefore: ReadonlySet<string> = new Set(['for', 'key', 'do', 'distinct', 'on']);
/** Words that end the list of tables behind `from`. */
const closers: ReadonlySet<string> = new Set([
  ...['where', 'group', 'order', 'having', 'limit', 'offset', 'union', 'except', 'intersect', 'window', 'returning'],
  ...['set', 'select', 'on', 'values', 'fetch', 'for'],
]);

/** A pair of parentheses, or the whole statement. */
interface Level {
  /** Whether it is a query of its own: in `extract(epoch from at)` the word `from` names no table. */
  isQuery: boolean;
  /** Whether a comma leads to another table. */
  isList: boolean;
}

function tablesInSQL(sql: string): string[] {
  const tokens = new Tokens(sql);
  const levels: Level[] = [{ isQuery: true, isList: false }];
  const found = new Set<string>();
  const ofStatement = new Set<string>();
  for (let at = 0; at < tokens.count; at += 1) {
    if (tokens.isMark(at, '(')) levels.push({ isQuery: beginsQuery.test(tokens.wordAt(at + 1)), isList: false });
    else if (tokens.isMark(at, ')') && levels.length > 1) levels.pop();
    else if (tokens.isBodyOfCTE(at)) ofStatement.add(tokens.nameBefore(at));
    const name = opensTable(tokens, at, levels.at(-1)) ? tokens.tableAt(at + 1) : undefined;
    if (name) found.add(name);
  }
  const isOwn = (name: string) => !ofStatement.has(name) && !/^(?:information_schema|pg_catalog)\./.test(name);
  return [...found].filter(isOwn).sort().slice(0, MAX_TABLES);
}

/** Whether a table comes behind this token. Notes in the level whether further ones come behind commas. */
function opensTable(tokens: Tokens, at: number, level: Level = { isQuery: true, isList: false }): boolean {
  if (tokens.isMark(at, ',')) return level.isList;
  const word = tokens.wordAt(at);
  if (closers.has(word)) level.isList = false;
  if (!openers.has(word) || !level.isQuery || notBefore.has(tokens.wordAt(at - 1))) return false;
  level.isList = word === 'from' || word === 'using';
  return true;
}

const beginsQuery = /^(?:select|with|table|values)$/;

/** The tokens of a statement, without spaces and comments. */
class Tokens {
  readonly #tokens: SqlToken[];

  constructor(sql: string) {
    this.#tokens = [...tokenize(sql, 'postgresql')].filter(({ kind }) => kind !== 'space' && kind !== 'comment');
  }

  get count(): number {
    return this.#tokens.length;
  }

  /** The word in lower case; empty if there is something else. */
  wordAt(at: number): string {
    const token = this.#tokens[at];
    return token?.kind === 'word' ? token.text.toLowerCase() : '';
  }

  isMark(at: number, text: string): boolean {
    const token = this.#tokens[at];
    return token?.kind === 'mark' && token.text === text;
  }

  /** The name of a table, with its schema if it has one; undefined if there is a function or a query. */
  tableAt(from: number): string | undefined {
    let at = from;
    while (fillers.has(this.wordAt(at))) at += 1;
    const names: string[] = [];
    for (; isName(this.#tokens[at]); at += 2) {
      names.push(nameOf(this.#tokens[at]));
      if (!this.isMark(at + 1, '.')) break;
    }
    // A name before a parenthesis is a function, except that of `insert into orders (id)`.
    const isFunction = this.isMark(at + 1, '(') && !/^(?:into|table|exists)$/.test(this.wordAt(from - 1));
    return isFunction ? undefined : names.join('.');
  }

  /** Whether there is `as`, followed by the query of a common table expression. */
  isBodyOfCTE(at: number): boolean {
    if (this.wordAt(at) !== 'as') return false;
    const next = this.wordAt(at + 1) === 'not' ? at + 2 : at + 1;
    return this.isMark(this.wordAt(next) === 'materialized' ? next + 1 : next, '(');
  }

  /** The name before `as`, past its list of columns. */
  nameBefore(as: number): string {
    let at = as - 1;
    if (this.isMark(at, ')')) while (at > 0 && !this.isMark(at, '(')) at -= 1;
    return nameOf(this.#tokens[this.isMark(at, '(') ? at - 1 : at]);
  }
}

function isName(token: SqlToken | undefined): boolean {
  if (token?.kind === 'name') return true;
  return token?.kind === 'word' && /^[^\d]/.test(token.text) && !openers.has(token.text.toLowerCase());
}

/** A name as Postgres reads it: in lower case, unless it is in quotes. */
function nameOf(token: SqlToken | undefined): string {
  if (!token) return '';
  return token.kind === 'name' ? token.text.slice(1, -1).replaceAll('""', '"') : token.text.toLowerCase();
}
