import { APIError } from '../client/rest.ts';

/** What the API says of the fields of a body, by the names of those. */
export function faultsOf(error: Error | null): ReadonlyMap<string, string> {
  const issues = error instanceof APIError ? error.issues : [];
  return new Map(issues.map(({ path: [name = ''], message }) => [String(name), message]));
}

/** What the API says of the fields of one field of a body, by the paths of those, joined by dots. */
export function faultsIn(field: string, error: Error | null): ReadonlyMap<string, string> {
  const issues = error instanceof APIError ? error.issues : [];
  return new Map(issues.map(({ path, message }) => [path.slice(path[0] === field ? 1 : 0).join('.'), message]));
}
