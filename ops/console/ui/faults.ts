import { APIError } from '../client/rest.ts';

/** Messages of the API about the fields of a body, by field name. */
export function faultsOf(error: Error | null): ReadonlyMap<string, string> {
  const issues = error instanceof APIError ? error.issues : [];
  return new Map(issues.map(({ path: [name = ''], message }) => [String(name), message]));
}

/** Messages of the API about the fields inside one field of a body, by their paths joined by dots. */
export function faultsIn(field: string, error: Error | null): ReadonlyMap<string, string> {
  const issues = error instanceof APIError ? error.issues : [];
  return new Map(issues.map(({ path, message }) => [path.slice(path[0] === field ? 1 : 0).join('.'), message]));
}

/** The faults of one option, by their paths in it. */
export function faultsWithin(option: string, faults: ReadonlyMap<string, string>): ReadonlyMap<string, string> {
  const within = [...faults].filter(([path]) => `${path}.`.startsWith(`${option}.`));
  return new Map(within.map(([path, message]) => [path.slice(option.length + 1), message]));
}
