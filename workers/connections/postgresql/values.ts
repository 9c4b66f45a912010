import type { FieldDef } from 'pg';
import type { Json } from '#shared/core/json.ts';
import { numberOrText, parseJson } from '../rows.ts';

/** Properties of a type that reading and writing its values need. */
interface PostgresType {
  /** Type of the elements of an array. */
  element: number | null;
  delimiter: string;
  /** Base type of a domain. */
  base: number | null;
}

/** A type and its modifier; `-1` for none. */
export type Kind = Pick<FieldDef, 'dataTypeID' | 'dataTypeModifier'>;

/** The types of one database. `learn` reads those from its catalogue that are not known yet. */
export interface Types {
  learn(query: CatalogQuery, kinds: readonly Kind[]): Promise<void>;
  /** Name in SQL. */
  nameOf(kind: Kind): string;
  /** Converts a text of this type to JSON. */
  reader(id: number): (text: string) => Json;
  /** Writes a value as the text of a parameter; `undefined` stands for a type that is not known. */
  write(value: Json, id: number | undefined): string | null;
}

type CatalogQuery = (sql: string, values: unknown[]) => Promise<{ rows: TypeRow[] }>;

interface TypeRow extends PostgresType {
  id: number;
  /** Null for a type that was read only because another has it as its element or base. */
  modifier: number | null;
  name: string | null;
}

/** Types can be renamed while a connection is open, so names are read again after this time. */
const FRESH_MS = 60_000;

export function createTypes(): Types {
  const known = new Map<number, PostgresType>();
  const names = new Map<string, string>();
  let freshUntil = performance.now() + FRESH_MS;

  function elementOf(id: number): { id: number; delimiter: string } | undefined {
    const type = known.get(id);
    return type?.element ? { id: type.element, delimiter: type.delimiter } : undefined;
  }

  function baseOf(id: number): number {
    const base = known.get(id)?.base;
    return base ? baseOf(base) : id;
  }

  function reader(id: number): (text: string) => Json {
    const base = baseOf(id);
    const element = elementOf(base);
    if (!element) return readers[base] ?? asText;
    const read = reader(element.id);
    return (text) => readArray(text, element.delimiter, read);
  }

  function write(value: Json, id: number | undefined): string | null {
    if (value === null) return null;
    if (typeof value !== 'object') return String(value);
    const element = id === undefined || !Array.isArray(value) ? undefined : elementOf(baseOf(id));
    if (!element || !Array.isArray(value)) return JSON.stringify(value);
    const { id: elementID, delimiter } = element;
    const isOfJson = isJson(baseOf(elementID));
    return writeArray(value, { delimiter, isOfJson, write: (item) => write(item, elementID) });
  }

  return {
    async learn(query, kinds) {
      if (performance.now() > freshUntil) {
        known.clear();
        names.clear();
        freshUntil = performance.now() + FRESH_MS;
      }
      const unknown = kinds.filter((kind) => !names.has(keyOf(kind)));
      if (unknown.length === 0) return;
      const ids = unknown.map(({ dataTypeID }) => dataTypeID);
      const { rows } = await query(QUESTION, [ids, unknown.map(({ dataTypeModifier }) => dataTypeModifier)]);
      for (const { id, modifier, name, ...type } of rows) {
        known.set(id, type);
        if (modifier !== null && name !== null) names.set(keyOf({ dataTypeID: id, dataTypeModifier: modifier }), name);
      }
    },
    nameOf: (kind) => names.get(keyOf(kind)) ?? 'unknown',
    reader,
    write,
  };
}

function keyOf({ dataTypeID, dataTypeModifier }: Kind): string {
  return `${dataTypeID} ${dataTypeModifier}`;
}

/** The two vector types are arrays with another text form, so they are not read as arrays. */
const QUESTION = `
with recursive asked as (
  select distinct a.id, a.modifier from unnest($1::pg_catalog.oid[], $2::pg_catalog.int4[]) as a(id, modifier)
),
needed as (
  select t.* from pg_catalog.pg_type t where t.oid in (select id from asked)
  union
  select t.* from pg_catalog.pg_type t
    join needed n on t.oid = case when n.typcategory = 'A' then n.typelem else n.typbasetype end
)
select n.oid as id, a.modifier, pg_catalog.format_type(a.id, a.modifier) as name, n.typdelim as delimiter,
       nullif(n.typbasetype, 0) as base,
       case when n.typcategory = 'A' and n.typname not in ('int2vector', 'oidvector') then nullif(n.typelem, 0) end as element
  from needed n left join asked a on a.id = n.oid`;

const asText = (text: string): Json => text;
const asNumber = (text: string): Json => numberOrText(Number(text));
const asBytes = (text: string): Json =>
  text.startsWith('\\x') ? Buffer.from(text.slice(2), 'hex').toString('base64') : text;

/** The server may be any program, and send invalid JSON. */
function asJson(text: string): Json {
  try {
    return parseJson(text);
  } catch {
    return text;
  }
}

/** `2026-11-21 12:00:00.5+05:30` → `2026-11-21T12:00:00.5+05:30`; infinity and years BC stay text. */
function asMoment(text: string): Json {
  const [, date, time, zone = ''] =
    /^(\d{4,}-\d\d-\d\d) (\d\d:\d\d:\d\d(?:\.\d+)?)([+-]\d\d(?::\d\d){0,2})?$/.exec(text) ?? [];
  if (!date) return text;
  return `${date}T${time}${zone === '+00' ? 'Z' : /^.\d\d$/.test(zone) ? `${zone}:00` : zone}`;
}

/** Readers by type OIDs, which are the same in every database; values of other types stay text. */
const readers: Readonly<Record<number, (text: string) => Json>> = {
  16: (text) => text === 't',
  17: asBytes,
  21: asNumber,
  23: asNumber,
  26: asNumber,
  114: asJson,
  700: asNumber,
  701: asNumber,
  1114: asMoment,
  1184: asMoment,
  3802: asJson,
};

function isJson(id: number): boolean {
  return id === 114 || id === 3802;
}

/** A quoted element, a brace, or a plain element; between them stands the delimiter. */
const TOKENS: Readonly<Record<string, RegExp>> = {
  ',': /"([^"\\]*(?:\\.[^"\\]*)*)"|([{}])|([^"{},]+)/gs,
  ';': /"([^"\\]*(?:\\.[^"\\]*)*)"|([{}])|([^"{};]+)/gs,
};

/** An array may begin with its bounds. An invalid array stays text, since the server may be any program. */
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

interface ArrayForm {
  delimiter: string;
  /** Lists in a list are further dimensions, unless the elements are JSON. */
  isOfJson: boolean;
  write(item: Json): string | null;
}

export function writeArray(items: readonly Json[], form: ArrayForm): string {
  const written = items.map((item) => {
    if (Array.isArray(item) && !form.isOfJson) return writeArray(item, form);
    const text = form.isOfJson && item !== null ? JSON.stringify(item) : form.write(item);
    return text === null ? 'NULL' : `"${text.replaceAll(/["\\]/g, '\\$&')}"`;
  });
  return `{${written.join(form.delimiter)}}`;
}
