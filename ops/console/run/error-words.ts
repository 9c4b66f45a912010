/** The codes of `shared/core/errors.ts`, and those with which limits end runs, in words. Lists show them without any advice. */
const words = {
  VALIDATION_ERROR: 'A setting or a value is wrong',
  DB_ERROR: 'The database refused the statement',
  INVALID_REQUEST: 'The request is wrong',
  PERMISSION_DENIED: 'A permission is missing',
  NOT_FOUND: 'Something that the step names is not there',
  SCHEMA_NOT_FOUND: 'The schema of the database is not there',
  CONFLICT: 'Another value is in the way',
  PAYLOAD_TOO_LARGE: 'The values are too large',
  RATE_LIMITED: 'Too many requests',
  QUOTA_EXCEEDED: 'A quota is used up',
  UNAVAILABLE: 'A service was not reachable',
  NODE_FAILED: 'The step failed',
  NODE_TIMEOUT: 'The step took too long',
  RUN_TIMEOUT: 'The run took too long',
  OUTPUT_TOO_LARGE: 'The output is too large',
  INVALID_OUTPUT: 'The output cannot be stored',
  WORKER_LOST: 'The worker was lost',
  UPSTREAM_FAILED: 'The other server failed',
  UPSTREAM_TIMEOUT: 'The other server took too long',
  INTERNAL_ERROR: 'An error inside Gantry',
  CONCURRENCY_LIMIT: 'Another run had its place',
  SUPERSEDED: 'A newer run took its place',
} as const;

export type ErrorCode = keyof typeof words;

/** The codes that an error may have, in words. */
export const codeChoices: readonly { value: string; label: string }[] = Object.entries(words).map(([value, label]) => ({
  value,
  label,
}));

/** A code in words; one that is not known by itself. */
export function wordOfCode(code: string): string {
  const known: Partial<Record<string, string>> = words;
  return known[code] ?? code;
}
