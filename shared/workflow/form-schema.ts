import { z } from 'zod';
import { isJsonObject, type Json, type JsonObject } from '../json.ts';

const MAX_LENGTH = 100_000;

/** Patterns may backtrack without end, and references may lead in circles. */
const refused: ReadonlySet<string> = new Set([
  'pattern',
  'patternProperties',
  '$ref',
  '$dynamicRef',
  'contentSchema',
  'contentEncoding',
  'contentMediaType',
]);

type Read = { schema: z.ZodType } | { path: string[]; message: string };

/** Reads the JSON Schema of a form, or says what of it cannot be checked. */
export function readFormSchema(json: JsonObject): Read {
  if (JSON.stringify(json).length > MAX_LENGTH)
    return { path: [], message: `a form has at most ${MAX_LENGTH} characters` };
  for (const path of keywordsIn(json))
    if (refused.has(path.at(-1) ?? '')) return { path, message: 'this keyword is not supported in forms' };
  try {
    return { schema: z.fromJSONSchema(json as Parameters<typeof z.fromJSONSchema>[0]) };
  } catch (error) {
    return { path: [], message: error instanceof Error ? error.message : 'is not a JSON Schema' };
  }
}

/** Keywords whose values are schemas by names that a person chose. */
const named: ReadonlySet<string> = new Set(['properties', '$defs', 'definitions', 'dependentSchemas']);
/** Keywords whose values are no schemas. */
const literal: ReadonlySet<string> = new Set(['enum', 'const', 'default', 'examples']);

/** Paths of the keywords of a schema and those in it. */
function* keywordsIn(schema: Json, path: string[] = []): Generator<string[]> {
  if (Array.isArray(schema)) for (const [at, item] of schema.entries()) yield* keywordsIn(item, [...path, String(at)]);
  if (!isJsonObject(schema)) return;
  for (const [keyword, value = null] of Object.entries(schema)) {
    const own = [...path, keyword];
    yield own;
    if (literal.has(keyword)) continue;
    if (!named.has(keyword)) yield* keywordsIn(value, own);
    else if (isJsonObject(value))
      for (const [name, child = null] of Object.entries(value)) yield* keywordsIn(child, [...own, name]);
  }
}
