import { isJsonObject, type Json } from '#shared/core/json.ts';
import { readJSON } from '#shared/core/lossless-json.ts';
import type { Schema } from '../http/openapi/types.ts';
import { ANY_JSON } from './plain-schema.ts';
import type { ToolArguments } from './tool.ts';

/** Characters of JSON within a text. A larger value is given as itself. */
const MAX_TEXT = 100_000;
const MARK = 'json:';

/**
 * The arguments with the JSON that some of them have as text: after `json:` where the schema says so, and where it asks for an object or
 * a list, which some models write as text. A text that is no JSON stays, and is refused by the route.
 */
export function readArguments({ properties = {} }: Schema, args: ToolArguments): ToolArguments {
  return readFields(properties, args);
}

function readFields(properties: Readonly<Record<string, Schema>>, given: ToolArguments): ToolArguments {
  const entries = Object.entries(given).map(([name, value]) => {
    const schema = Object.hasOwn(properties, name) ? properties[name] : undefined;
    return [name, schema ? read(schema, value) : value] as const;
  });
  // `fromEntries` also sets a key `__proto__`, as an own one.
  return entries.every(([name, value]) => given[name] === value) ? given : Object.fromEntries(entries);
}

function read(schema: Schema, value: unknown): unknown {
  if (typeof value === 'string') return readText(schema, value);
  const { type, items, properties } = schema;
  if (type === 'array' && items && Array.isArray(value)) return value.map((item) => read(items, item));
  if (type === 'object' && properties && isJsonObject(value)) return readFields(properties, value);
  return value;
}

function readText(schema: Schema, text: string): unknown {
  const { type, description } = schema;
  if (text.length > MAX_TEXT) return text;
  if (type === 'string')
    return text.startsWith(MARK) && description?.endsWith(ANY_JSON) ? parsed(text.slice(MARK.length), text) : text;
  const begin = type === 'object' ? '{' : '[';
  if ((type !== 'object' && type !== 'array') || !text.trimStart().startsWith(begin)) return text;
  const value = parsed(text, text);
  return value === text ? text : read(schema, value);
}

function parsed(json: string, otherwise: string): Json {
  try {
    return readJSON(json);
  } catch {
    return otherwise;
  }
}
