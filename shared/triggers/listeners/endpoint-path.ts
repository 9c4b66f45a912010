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

/** The methods that `ANY` stands for. */
const METHODS: ReadonlySet<string> = new Set(['POST', 'PUT', 'PATCH', 'GET', 'DELETE']);

/** Whether a listener takes a method. HEAD asks for what GET would answer. */
export function takesMethod(allowed: string, method: string): boolean {
  const asked = method === 'HEAD' ? 'GET' : method;
  return allowed === asked || (allowed === 'ANY' && METHODS.has(asked));
}

/** A node of the tree of paths: paths that begin alike share their first nodes. */
interface Branch<T> {
  literals: Map<string, Branch<T>>;
  parameter: Branch<T> | undefined;
  /** The paths that end here, which have different methods. */
  ends: Endpoint<T>[];
}

export interface Endpoint<T> {
  path: string;
  /** A method, or `ANY`. */
  method: string;
  value: T;
}

export interface Endpoints<T> {
  /**
   * Finds the path that matches, of those that take the method, or else of all. Of several it is the one that has a literal where the others
   * first have a parameter.
   */
  find(segments: readonly string[], method: string): { value: T; params: Record<string, string> } | undefined;
}

export function createEndpoints<T>(paths: Iterable<Endpoint<T>>): Endpoints<T> {
  const root = newBranch<T>();
  for (const endpoint of paths) {
    let branch = root;
    for (const segment of endpoint.path.split('/'))
      branch = isParameter(segment) ? parameterOf(branch) : literalOf(branch, segment);
    branch.ends.push(endpoint);
  }
  return {
    find(segments, method) {
      if (segments.length > MAX_SEGMENTS) return undefined;
      const end =
        search(root, segments, (one) => takesMethod(one.method, method)) ?? search(root, segments, () => true);
      return end && { value: end.value, params: paramsOf(end.path, segments) };
    },
  };
}

function newBranch<T>(): Branch<T> {
  return { literals: new Map(), parameter: undefined, ends: [] };
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
function search<T>(
  branch: Branch<T>,
  segments: readonly string[],
  matches: (end: Endpoint<T>) => boolean,
  at = 0,
): Endpoint<T> | undefined {
  const segment = segments[at];
  if (segment === undefined) return branch.ends.find(matches);
  const literal = branch.literals.get(segment);
  const found = literal && search(literal, segments, matches, at + 1);
  if (found) return found;
  return branch.parameter && segment !== '' ? search(branch.parameter, segments, matches, at + 1) : undefined;
}

function paramsOf(path: string, segments: readonly string[]): Record<string, string> {
  const named = path.split('/').flatMap((part, at) => (isParameter(part) ? [[part.slice(1), segments[at] ?? '']] : []));
  return Object.fromEntries(named);
}
