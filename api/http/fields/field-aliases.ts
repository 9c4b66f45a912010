import { isJsonObject, type JsonObject } from '#shared/core/json.ts';
import { mapPaths, type Path } from '#shared/core/schema/issues.ts';

/**
 * The names that a client may use for a field, by the path of the field in errors. If several are sent, the first of them counts.
 * `*` in a path is any index; a name with dots is a path from the parent of the field.
 */
export type FieldAliases = Readonly<Record<string, readonly string[]>>;

/** Replaces the names of fields in an error by those in `sent`, the fields of the request. */
export function withClientNames(error: unknown, aliases: FieldAliases, sent: JsonObject): unknown {
  return mapPaths(error, (path) => clientPath(path, aliases, sent));
}

function clientPath(path: Path, aliases: FieldAliases, sent: JsonObject): Path {
  for (const [pattern, names] of Object.entries(aliases)) {
    const keys = pattern.split('.');
    if (!keys.every((key, at) => (key === '*' ? typeof path[at] === 'number' : path[at] === key))) continue;
    const parent = path.slice(0, keys.length - 1);
    const given = names.map((name) => [...parent, ...name.split('.')]).find((candidate) => isGiven(sent, candidate));
    return given ? [...given, ...path.slice(keys.length)] : path;
  }
  return path;
}

/** Whether a request has a field; a field that is null is absent. */
function isGiven(sent: unknown, path: Path): boolean {
  let value = sent;
  for (const key of path) {
    if (Array.isArray(value) && typeof key === 'number') value = value[key];
    else if (isJsonObject(value) && Object.hasOwn(value, key)) value = value[String(key)];
    else return false;
  }
  return value !== undefined && value !== null;
}
