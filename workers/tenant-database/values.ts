import type { Json, JsonObject } from '#shared/json.ts';
import type { TenantClient } from './open.ts';
import type { RawResult } from './statement.ts';

export interface Typed {
  columns: { name: string; type: string }[];
  rows: JsonObject[];
}

interface TypeRow {
  id: number;
  modifier: number;
  name: string;
  element: number;
  delimiter: string;
  isArray: boolean;
}

interface Kind {
  element: number;
  delimiter: string;
}

/**
 * Rows as JSON has them. What a number of JSON would not hold exactly stays text (bigint, numeric), as do moments, in ISO 8601
 * with their zone; bytes are base64.
 */
export async function typeRows(client: TenantClient, results: readonly RawResult[]): Promise<Typed[]> {
  const fields = results.flatMap((result) => result.fields);
  const each = new Map(fields.map((field) => [`${field.typeID} ${field.modifier}`, field]));
  const types = await findTypes(client, [...each.values()]);
  return results.map((result) => {
    const names = distinct(result.fields.map(({ name }) => name));
    const readers = result.fields.map(({ typeID }) => readerOf(typeID, types.kinds));
    return {
      columns: result.fields.map((field, at) => ({
        name: names[at] ?? '',
        type: types.names.get(`${field.typeID} ${field.modifier}`) ?? 'unknown',
      })),
      rows: result.rows.map((row) =>
        Object.fromEntries(
          row.map((value, at) => [names[at] ?? '', value === null ? null : (readers[at]?.(value) ?? null)]),
        ),
      ),
    };
  });
}

async function findTypes(client: TenantClient, fields: RawResult['fields']) {
  const names = new Map<string, string>();
  const kinds = new Map<number, Kind>();
  if (fields.length === 0) return { names, kinds };
  const { rows } = await client.query<TypeRow>(FIND_TYPES, [
    fields.map(({ typeID }) => typeID),
    fields.map(({ modifier }) => modifier),
  ]);
  for (const { id, modifier, name, element, delimiter, isArray } of rows) {
    names.set(`${id} ${modifier}`, name);
    if (isArray) kinds.set(id, { element, delimiter });
  }
  return { names, kinds };
}

const FIND_TYPES = `
select distinct f.id, f.modifier, pg_catalog.format_type(f.id, f.modifier) as name,
       t.typelem as element, coalesce(e.typdelim, ',')::text as delimiter,
       coalesce(t.typelem <> 0 and t.typlen = -1, false) as "isArray"
from unnest($1::pg_catalog.oid[], $2::pg_catalog.int4[]) as f(id, modifier)
left join pg_catalog.pg_type t on t.oid = f.id
left join pg_catalog.pg_type e on e.oid = t.typelem`;

/** A row as an object has one place for each name. */
function distinct(names: readonly string[]): string[] {
  const taken = new Set<string>();
  return names.map((name) => {
    let own = name;
    for (let n = 2; taken.has(own); n += 1) own = `${name}_${n}`;
    taken.add(own);
    return own;
  });
}

type Reader = (text: string) => Json;

function readerOf(typeID: number, kinds: ReadonlyMap<number, Kind>): Reader {
  const kind = kinds.get(typeID);
  if (!kind) return readers[typeID] ?? asText;
  const element = readers[kind.element] ?? asText;
  return (text) => readArray(text, kind.delimiter, element);
}

const asText: Reader = (text) => text;
/** NaN and the infinities are no numbers of JSON. */
const asNumber: Reader = (text) => (Number.isFinite(Number(text)) ? Number(text) : text);
const asJson: Reader = (text) => JSON.parse(text) as Json;
const asBytes: Reader = (text) =>
  text.startsWith('\\x') ? Buffer.from(text.slice(2), 'hex').toString('base64') : text;

/** `2026-11-21 12:00:00.5+05:30` → `2026-11-21T12:00:00.5+05:30`; infinity and years before Christ stay as they are. */
const asMoment: Reader = (text) => {
  const [, date, time, zone = ''] =
    /^(\d{4,}-\d\d-\d\d) (\d\d:\d\d:\d\d(?:\.\d+)?)([+-]\d\d(?::\d\d)?)?$/.exec(text) ?? [];
  if (!date) return text;
  return `${date}T${time}${zone === '+00' ? 'Z' : /^.\d\d$/.test(zone) ? `${zone}:00` : zone}`;
};

/** By the numbers that the types every server has from the start have everywhere. */
const readers: Record<number, Reader> = {
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

/** The server's text of an array: `{1,NULL,"a\"b",{…}}`, with `[2:3]=` before it when it does not begin at 1. */
export function readArray(text: string, delimiter: string, element: Reader): Json {
  let at = text.indexOf('{');
  if (at < 0) return text;

  function list(): Json[] {
    const items: Json[] = [];
    at += 1;
    while (at < text.length && text[at] !== '}') {
      if (text[at] === delimiter) at += 1;
      else items.push(text[at] === '{' ? list() : item());
    }
    at += 1;
    return items;
  }

  function item(): Json {
    if (text[at] === '"') return element(quoted());
    const start = at;
    while (at < text.length && text[at] !== delimiter && text[at] !== '}') at += 1;
    const bare = text.slice(start, at);
    return bare === 'NULL' ? null : element(bare);
  }

  function quoted(): string {
    let value = '';
    for (at += 1; at < text.length && text[at] !== '"'; at += 1) {
      if (text[at] === '\\') at += 1;
      value += text[at];
    }
    at += 1;
    return value;
  }

  return list();
}
