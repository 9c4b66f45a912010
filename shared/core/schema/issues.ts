import { AppError } from '../errors.ts';
import { isJsonObject, type JsonObject } from '../json.ts';

export type Path = readonly (string | number)[];

export interface Issue {
  path: (string | number)[];
  message: string;
  /** As zod names it; `custom` for checks outside of schemas. */
  type?: string;
}

interface InvalidOptions {
  /** DB_ERROR where a database has rejected a value of the request, CONFLICT where a row has the value already. */
  code?: 'VALIDATION_ERROR' | 'DB_ERROR' | 'CONFLICT' | 'PERMISSION_DENIED';
  cause?: unknown;
  /** Begins the message, which then has the first issue only. */
  summary?: string;
  /** Further details, in addition to `issues`. */
  details?: JsonObject;
  /** Number of all issues. */
  count?: number;
}

/** Limits of the issues that an error lists, and that a search collects: a body of 5 MB may have a million. */
const MAX_LISTED = 50;
const MAX_FOUND = 1_000;

/**
 * Makes one error of all issues, in the form of all validation errors. It lists the first of them; `count` is the number of all,
 * if not all are given.
 */
export function invalid(
  issues: readonly Issue[],
  { code = 'VALIDATION_ERROR', cause, summary, details, count = issues.length }: InvalidOptions = {},
): AppError {
  const listed = issues.slice(0, MAX_LISTED);
  const texts = summary === undefined ? listed.map(textOf) : [summary, ...listed.slice(0, 1).map(textOf)];
  return new AppError(code, texts.join('; '), {
    cause,
    details: {
      ...details,
      issues: listed.map((issue) => ({ ...issue, type: issue.type ?? 'custom' })),
      ...(count > listed.length && { issueCount: count }),
    },
  });
}

/** Collects the first `MAX_FOUND` issues of a search, then ends the search. */
export function firstIssues(issues: Iterable<Issue>): Issue[] {
  const found: Issue[] = [];
  for (const issue of issues) if (found.push(issue) === MAX_FOUND) break;
  return found;
}

/** A VALIDATION_ERROR about one field, with dots in its path: `messageOptions.expiration`. */
export function invalidField(field: string, message: string, options?: InvalidOptions): AppError {
  const path = field.split('.').map((key) => (/^\d+$/.test(key) ? Number(key) : key));
  return invalid([{ path, message }], options);
}

/** `port: expected …; host: expected …`. */
export function describeIssues(issues: readonly Issue[]): string {
  return issues.slice(0, MAX_LISTED).map(textOf).join('; ');
}

/** Prefixes the paths of issues. */
export function within(prefix: Path, issues: readonly Issue[]): Issue[] {
  return issues.map((issue) => ({ ...issue, path: [...prefix, ...issue.path] }));
}

/** Copies an error with other paths in its issues and in its message. Returns an error without issues unchanged. */
export function mapPaths(error: unknown, map: (path: Path) => Path): unknown {
  if (!(error instanceof AppError) || !isJsonObject(error.details) || !Array.isArray(error.details.issues))
    return error;
  // Safe: only `invalid` and the validation of requests write `issues`, also in errors that a worker has sent back.
  const issues = error.details.issues as unknown as Issue[];
  const mapped = issues.map((issue) => ({ ...issue, path: [...map(issue.path)] }));
  const { code, cause, status, retry, retryAfter, details } = error;
  return new AppError(code, replaceInOrder(error.message, issues.map(textOf), mapped.map(textOf)), {
    cause,
    status,
    retry,
    ...(retryAfter !== undefined && { retryAfter }),
    details: { ...details, issues: mapped },
  });
}

/** Replaces texts in their order. Each search begins after the last replacement, which may itself contain the next text. */
function replaceInOrder(message: string, before: readonly string[], after: readonly string[]): string {
  let replaced = '';
  let rest = message;
  for (const [index, text] of before.entries()) {
    const at = rest.indexOf(text);
    if (at === -1) continue;
    replaced += rest.slice(0, at) + (after[index] ?? text);
    rest = rest.slice(at + text.length);
  }
  return replaced + rest;
}

function textOf({ path, message }: Issue): string {
  return path.length > 0 ? `${path.join('.')}: ${message}` : message;
}
