import { type AppError, toAppError } from '#shared/core/errors.ts';
import { newID } from '#shared/core/ids.ts';
import type { Logger } from '#shared/core/logger.ts';

/**
 * Errors that are logged as warnings, because an operator cannot mend them: a passing outage, or a tenant's wrong
 * address.
 */
const outsideCauses: ReadonlySet<string> = new Set(['UNAVAILABLE', 'UPSTREAM_FAILED', 'UPSTREAM_TIMEOUT']);

/** Errors that are logged at the usual level, because they may be an attack; without the body that was sent. */
const suspicious: ReadonlySet<number> = new Set([401, 403, 429]);

/** Logs an error that a client is answered with. `about` has the id that the client gets, too. */
export function reportError(logger: Logger, error: AppError, about: Record<string, unknown>): void {
  const line = { ...about, status: error.status, code: error.code };
  if (suspicious.has(error.status)) logger.info(line, 'request refused');
  else if (error.status < 500) logger.debug({ ...line, err: error }, 'request refused');
  else if (outsideCauses.has(error.code)) logger.warn({ ...line, ...whyNotServed(error) }, 'request not served');
  else logger.error({ ...line, err: error }, 'request failed');
}

/** The error of an answer that is no response of its own, and so has no header for an id: of a socket, or within a list. */
export interface ReportedError {
  code: string;
  message: string;
  /** In the log of this process, too. Only for errors that are not the client's. */
  requestID?: string;
}

/** Logs an error of this service, once, and returns what the client gets. */
export function reported(logger: Logger, error: unknown, about: Record<string, unknown>): ReportedError {
  const known = toAppError(error);
  const { code, message, status } = known;
  if (status < 500) return { code, message };
  const requestID = newID();
  reportError(logger, known, { ...about, requestID });
  return { code, message, requestID };
}

/** Logs a handshake that is refused, and returns what the client gets. */
export function reportedHandshake(logger: Logger, error: AppError, about: Record<string, unknown>) {
  const { code, message } = error;
  const requestID = newID();
  reportError(logger, error, { ...about, handshake: true, requestID });
  return { code, message, requestID };
}

/**
 * The log fields of an error. If a server is not reachable, every request logs such a line, so it has no stack, which
 * would make it 1.5 kB long.
 */
function whyNotServed(error: AppError): { err: AppError } | { why: string } {
  const { code, message, cause } = error;
  if (code !== 'UNAVAILABLE') return { err: error };
  return { why: cause instanceof Error ? `${message}: ${cause.message}` : message };
}
