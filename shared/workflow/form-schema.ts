import { z } from 'zod';
import { isJsonObject, type Json, type JsonObject } from '../core/json.ts';
import { PROTOTYPE_KEY } from '../core/record.ts';

const MAX_LENGTH = 100_000;

/** Keywords that forms may not use: a pattern may backtrack without end, and references may lead in circles. */
const refused: ReadonlySet<string> = new Set([
  'pattern',
  'patternProperties',
  '$ref',
  '$dynamicRef',
  'contentSchema',
  'contentEncoding',
  'contentMediaType',
]);

/** `maxParts`: how many parts an answer may have. */
type Read = { schema: z.ZodType; maxParts: number } | Fault;

interface Fault {
  path: string[];
  message: string;
}

/** Keywords whose schemas are all tried with the same value. */
const tried: ReadonlySet<string> = new Set(['anyOf', 'oneOf', 'allOf', 'not', 'if', 'contains', 'propertyNames']);

/** Checks of one answer: each of its parts may be tried with each such schema. 4,000 schemas and a list of 100,000 numbers took minutes. */
const MAX_TRIES = 200_000;

/** Reads the JSON Schema of a form, or says where it cannot be used. */
export function readFormSchema(json: JsonObject): Read {
  if (JSON.stringify(json).length > MAX_LENGTH)
    return { path: [], message: `a form has at most ${MAX_LENGTH} characters` };
  let choices = 1;
  for (const found of keywordsIn(json)) {
    const { keyword, value } = found;
    const fault = faultOf(found);
    if (fault) return fault;
    if (tried.has(keyword)) choices += Array.isArray(value) ? value.length : 1;
  }
  try {
    const schema = z.fromJSONSchema(json as Parameters<typeof z.fromJSONSchema>[0]);
    return { schema, maxParts: Math.floor(MAX_TRIES / choices) };
  } catch (error) {
    return { path: [], message: error instanceof Error ? error.message : 'is not a JSON Schema' };
  }
}

function faultOf({ path, keyword, value }: Keyword): Fault | undefined {
  if (refused.has(keyword)) return { path, message: 'this keyword is not supported in forms' };
  // Schemas of zod cannot have this name.
  if (named.has(keyword) && isJsonObject(value) && Object.hasOwn(value, PROTOTYPE_KEY))
    return { path: [...path, PROTOTYPE_KEY], message: 'this name cannot be used in forms' };
  return undefined;
}

/** Keywords whose values are schemas by names that a person chose. */
const named: ReadonlySet<string> = new Set(['properties', '$defs', 'definitions', 'dependentSchemas']);
/** Keywords whose values are no schemas. */
const literal: ReadonlySet<string> = new Set(['enum', 'const', 'default', 'examples']);

interface Keyword {
  keyword: string;
  path: string[];
  value: Json;
}

/** The keywords of a schema and those in it, with their paths. */
function* keywordsIn(schema: Json, path: string[] = []): Generator<Keyword> {
  if (Array.isArray(schema)) for (const [at, item] of schema.entries()) yield* keywordsIn(item, [...path, String(at)]);
  if (!isJsonObject(schema)) return;
  for (const [keyword, value = null] of Object.entries(schema)) {
    const own = [...path, keyword];
    yield { keyword, path: own, value };
    if (literal.has(keyword)) continue;
    if (!named.has(keyword)) yield* keywordsIn(value, own);
    else if (isJsonObject(value))
      for (const [name, child = null] of Object.entries(value)) yield* keywordsIn(child, [...own, name]);
  }
}
