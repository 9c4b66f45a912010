import type pg from 'pg';
import type { Json } from '#shared/json.ts';
import { numberOrText, parseJson } from '../rows.ts';

/** What has to be known of a type to write and read its values. */
interface PostgresType {
  /** As SQL writes it. */
  name: string;
  /** The elements' type, of an array. */
  element: number | null;
  delimiter: string;
  /** The type that a domain is made of. */
  base: number | null;
}

/** The types of one database, learned as they come up. */
export interface Types {
  learn(client: pg.Client, oids: readonly number[]): Promise<void>;
  nameOf(oid: number): string;
  /** How a value of this type is made of its text. */
  reader(oid: number): (text: string) => Json;
  /** A value as text for a parameter of this type; undefined stands for a type that was not asked about. */
  write(value: Json, oid: number | undefined): string | null;
}

const MAX_KNOWN = 10_000;

export function createTypes(): Types {
  const known = new Map<number, PostgresType>();

  function elementOf(oid: number): { oid: number; delimiter: string } | undefined {
    const type = known.get(oid);
    return type?.element ? { oid: type.element, delimiter: type.delimiter } : undefined;
  }

  function baseOf(oid: number): number {
    const base = known.get(oid)?.base;
    return base ? baseOf(base) : oid;
  }

  function reader(oid: number): (text: string) => Json {
    const base = baseOf(oid);
    const element = elementOf(base);
    if (!element) return readers[base] ?? asText;
    const read = reader(element.oid);
    return (text) => readArray(text, element.delimiter, read);
  }

  function write(value: Json, oid: number | undefined): string | null {
    if (value === null) return null;
    if (typeof value !== 'object') return String(value);
    const element = oid === undefined || !Array.isArray(value) ? undefined : elementOf(baseOf(oid));
    if (!element || !Array.isArray(value)) return JSON.stringify(value);
    return writeArray(value, element.delimiter, (item) => write(item, element.oid), isJson(baseOf(element.oid)));
  }

  return {
    async learn(client, oids) {
      const unknown = oids.filter((oid) => !known.has(oid));
      if (unknown.length === 0) return;
      if (known.size > MAX_KNOWN) known.clear();
      const { rows } = await client.query<PostgresType & { oid: number }>(QUESTION, [[...new Set(oids)]]);
      for (const { oid, ...type } of rows) known.set(oid, type);
    },
    nameOf: (oid) => known.get(oid)?.name ?? String(oid),
    reader,
    write,
  };
}

/** The two vectors count as arrays, but are written in another way. */
const QUESTION = `
with recursive needed as (
  select t.* from pg_catalog.pg_type t where t.oid = any($1::pg_catalog.oid[])
  union
  select t.* from pg_catalog.pg_type t
    join needed n on t.oid = case when n.typcategory = 'A' then n.typelem else n.typbasetype end
)
select oid, pg_catalog.format_type(oid, null) as name, typdelim as delimiter, nullif(typbasetype, 0) as base,
       case when typcategory = 'A' and typname not in ('int2vector', 'oidvector') then nullif(typelem, 0) end as element
  from needed`;

const asText = (text: string): Json => text;

/** By the types' numbers, which are the same in every database; all others are texts. */
const readers: Readonly<Record<number, (text: string) => Json>> = {
  16: (text) => text === 't',
  17: (text) => Buffer.from(text.slice(2), 'hex').toString('base64'),
  21: Number,
  23: Number,
  26: Number,
  114: parseJson,
  700: (text) => numberOrText(Number(text)),
  701: (text) => numberOrText(Number(text)),
  1114: isoTime,
  1184: (text) => isoTime(text).replace(/\+00$/, 'Z'),
  3802: parseJson,
};

function isJson(oid: number): boolean {
  return oid === 114 || oid === 3802;
}

/** `infinity` and years before Christ have no ISO form, and stay as they are. */
function isoTime(text: string): string {
  return text.endsWith(' BC') ? text : text.replace(' ', 'T');
}

/** A quoted element, a brace, or an element as it is; what stands between is the delimiter. */
const TOKENS: Readonly<Record<string, RegExp>> = {
  ',': /"([^"\\]*(?:\\.[^"\\]*)*)"|([{}])|([^"{},]+)/gs,
  ';': /"([^"\\]*(?:\\.[^"\\]*)*)"|([{}])|([^"{};]+)/gs,
};

/** A list may begin with its bounds. What is no list stays a text, since any program may answer as the server. */
function readArray(text: string, delimiter: string, read: (text: string) => Json): Json {
  const root: Json[] = [];
  const open = [root];
  const list = text.startsWith('[') ? text.slice(text.indexOf('=') + 1) : text;
  for (const [token, quoted, brace] of list.matchAll(TOKENS[delimiter] ?? /$^/g)) {
    const inside = open.at(-1);
    if (!inside) return text;
    if (brace === '{') open.push(nested(inside));
    else if (brace === '}') open.pop();
    else inside.push(readElement(token, quoted, read));
  }
  return open.length === 1 ? (root[0] ?? text) : text;
}

function nested(list: Json[]): Json[] {
  const inner: Json[] = [];
  list.push(inner);
  return inner;
}

function readElement(token: string, quoted: string | undefined, read: (text: string) => Json): Json {
  if (quoted !== undefined) return read(quoted.replaceAll(/\\(.)/gs, '$1'));
  return token === 'NULL' ? null : read(token);
}

function writeArray(
  items: readonly Json[],
  delimiter: string,
  write: (item: Json) => string | null,
  ofJson: boolean,
): string {
  const written = items.map((item) => {
    // Lists in a list are its further dimensions, unless the elements are JSON, of which lists are a kind.
    if (Array.isArray(item) && !ofJson) return writeArray(item, delimiter, write, ofJson);
    const text = ofJson && item !== null ? JSON.stringify(item) : write(item);
    return text === null ? 'NULL' : `"${text.replaceAll(/["\\]/g, '\\$&')}"`;
  });
  return `{${written.join(delimiter)}}`;
}
