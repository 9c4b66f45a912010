import { GantryError } from '../client/index.ts';

/** Exit codes, from which a script learns the outcome without reading the output. */
export const exitCodes = {
  done: 0,
  /** The run has failed or was cancelled, or the doctor has found a problem. */
  failed: 1,
  /** The command was called wrongly. */
  usage: 2,
  /** Not signed in, or not allowed. */
  notAllowed: 3,
  /** No answer. */
  notReachable: 4,
  /** The service has refused for another reason: not found, in conflict, invalid, over a limit. */
  refused: 5,
} as const;

export type ExitCode = (typeof exitCodes)[keyof typeof exitCodes];

/** The command was called wrongly; the message says how to call it. */
export class UsageError extends Error {}

/** Something that was asked about has failed; it was said already. */
export class Failed extends Error {}

export function exitCodeOf(error: unknown): ExitCode {
  if (error instanceof Failed) return exitCodes.failed;
  if (error instanceof UsageError) return exitCodes.usage;
  if (!(error instanceof GantryError)) return exitCodes.failed;
  if (error.code === 'TIMEOUT' || error.status === 0 || error.status >= 500) return exitCodes.notReachable;
  return error.status === 401 || error.status === 403 ? exitCodes.notAllowed : exitCodes.refused;
}

/** One line for people, with what they need to ask for help. */
export function sentenceOf(error: unknown): string {
  if (!(error instanceof GantryError)) return error instanceof Error ? error.message : String(error);
  const parts = [`${error.code}: ${error.message}`];
  if (error.status === 401) parts.push('Sign in with: gantry sign-in');
  if (error.requestID) parts.push(`Request ${error.requestID}`);
  return [parts.join('\n'), ...issuesIn(error.details)].join('\n');
}

function issuesIn(details: unknown): string[] {
  const issues = (details as { issues?: unknown } | undefined)?.issues;
  if (!Array.isArray(issues)) return [];
  return issues.map(({ path, message }: { path?: unknown[]; message?: string }) => `  ${path?.join('.')}: ${message}`);
}
