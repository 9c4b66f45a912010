import { APIError } from '../client/rest.ts';

/** Messages of the API about the fields of a body, by field name. */
export function faultsOf(error: Error | null): ReadonlyMap<string, string> {
  const issues = error instanceof APIError ? error.issues : [];
  return new Map(issues.map(({ path: [name = ''], message }) => [String(name), wordsOf(message)]));
}

/** Messages of the API about the fields inside one field of a body, by their paths joined by dots. */
export function faultsIn(field: string, error: Error | null): ReadonlyMap<string, string> {
  const issues = error instanceof APIError ? error.issues : [];
  return new Map(
    issues.map(({ path, message }) => [path.slice(path[0] === field ? 1 : 0).join('.'), wordsOf(message)]),
  );
}

/** The same without those of other fields of the body, which are shown elsewhere. */
export function faultsBelow(field: string, error: Error | null): ReadonlyMap<string, string> {
  const issues = error instanceof APIError ? error.issues : [];
  const own = issues.filter(({ path }) => path[0] === field);
  return new Map(own.map(({ path, message }) => [path.slice(1).join('.'), wordsOf(message)]));
}

/** A field that was left empty says what it needs: its author knows that nothing was received. */
function wordsOf(message: string): string {
  const [, wanted] = /^expected (.+), received nothing$/s.exec(message) ?? [];
  return wanted === undefined ? message : `Needed: ${wanted}`;
}
