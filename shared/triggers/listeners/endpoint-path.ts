import { z } from 'zod';
import { quote } from '../../core/quote.ts';

const MAX_SEGMENTS = 10;
const LITERAL = /^[\w.~-]+$/;
const PARAMETER = /^:[A-Za-z_][A-Za-z0-9_]{0,63}$/;
const BLOCKED: ReadonlySet<string> = new Set(['.', '..', ':__proto__', ':prototype', ':constructor']);

/** `orders/:orderID/paid`: what follows the tenant in the URL of a webhook. Stored without slashes around it. */
export const EndpointPath = z
  .string()
  .max(255)
  .transform((text, check) => {
    const path = text.replace(/^\/+|\/+$/g, '');
    const segments = path.split('/');
    const issue = (message: string) => check.addIssue({ code: 'custom', message });
    if (segments.length > MAX_SEGMENTS) issue(`expected at most ${MAX_SEGMENTS} parts, received ${segments.length}`);
    const wrong = segments.find((part) => BLOCKED.has(part) || !(LITERAL.test(part) || PARAMETER.test(part)));
    if (wrong !== undefined)
      issue(`expected parts of letters, digits and . _ ~ -, or parameters such as :orderID, received ${quote(wrong)}`);
    const names = segments.filter(isParameter);
    if (new Set(names).size < names.length) issue('names a parameter twice');
    return path;
  });

function isParameter(segment: string): boolean {
  return segment.startsWith(':');
}

/** The path with nameless parameters. Two paths of the same shape match the same URLs. */
export function shapeOf(path: string): string {
  return path
    .split('/')
    .map((segment) => (isParameter(segment) ? ':' : segment))
    .join('/');
}

/** A node of the tree of paths: paths that begin alike share their first nodes. */
interface Branch<T> {
  literals: Map<string, Branch<T>>;
  parameter: Branch<T> | undefined;
  end: { value: T; path: string } | undefined;
}

export interface Endpoints<T> {
  /** Finds the path that matches; of several, the one that has a literal where the others first have a parameter. */
  find(segments: readonly string[]): { value: T; params: Record<string, string> } | undefined;
}

export function createEndpoints<T>(paths: Iterable<{ path: string; value: T }>): Endpoints<T> {
  const root = newBranch<T>();
  for (const { path, value } of paths) {
    let branch = root;
    for (const segment of path.split('/'))
      branch = isParameter(segment) ? parameterOf(branch) : literalOf(branch, segment);
    branch.end = { value, path };
  }
  return {
    find(segments) {
      const end = segments.length > MAX_SEGMENTS ? undefined : search(root, segments);
      return end && { value: end.value, params: paramsOf(end.path, segments) };
    },
  };
}

function newBranch<T>(): Branch<T> {
  return { literals: new Map(), parameter: undefined, end: undefined };
}

function parameterOf<T>(branch: Branch<T>): Branch<T> {
  branch.parameter ??= newBranch();
  return branch.parameter;
}

function literalOf<T>(branch: Branch<T>, segment: string): Branch<T> {
  const known = branch.literals.get(segment) ?? newBranch<T>();
  branch.literals.set(segment, known);
  return known;
}

/** Searches the tree, literals first. A segment has at most two branches and a path ten segments, so the search stays short. */
function search<T>(branch: Branch<T>, segments: readonly string[], at = 0): Branch<T>['end'] {
  const segment = segments[at];
  if (segment === undefined) return branch.end;
  const literal = branch.literals.get(segment);
  const found = literal && search(literal, segments, at + 1);
  if (found) return found;
  return branch.parameter && segment !== '' ? search(branch.parameter, segments, at + 1) : undefined;
}

function paramsOf(path: string, segments: readonly string[]): Record<string, string> {
  const named = path.split('/').flatMap((part, at) => (isParameter(part) ? [[part.slice(1), segments[at] ?? '']] : []));
  return Object.fromEntries(named);
}
