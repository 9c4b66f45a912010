import type { NextFunction, Request, Response } from 'express';
import { AppError, toAppError } from '#shared/core/errors.ts';
import type { Logger } from '#shared/core/logger.ts';
import { shownPath } from '#shared/runs/form-links.ts';
import type { Refusals } from '../limits/refusals.ts';
import { readClientError } from '../request/client-error.ts';
import { describeUnknown, unknownFieldPolicyOf } from '../request/unknown-field-policy.ts';

/** Answers a request that no route has matched: an unknown path, or another method of a known one. */
export function unknownPath(request: Request): never {
  throw new AppError('INVALID_REQUEST', `There is nothing at ${request.method} ${shownPath(request.path)}`, {
    status: 404,
  });
}

/** Turns every error into a response; cause and stack go to the log only. */
export function sendErrors({ logger, refusals }: { logger: Logger; refusals: Refusals }) {
  // Express knows an error handler by its four parameters.
  return (error: unknown, request: Request, response: Response, _next: NextFunction): void => {
    const known = readClientError(error, request) ?? toAppError(error);
    const { code, message, status, details } = known;
    refusals.note(known, TENANT.exec(request.path)?.[1]);
    report(logger, known, {
      method: request.method,
      path: shownPath(request.path),
      requestID: response.getHeader('x-request-id'),
    });
    if (response.headersSent) {
      response.destroy();
      return;
    }
    if (status === 429 || status === 503) response.setHeader('retry-after', Math.ceil(known.retryAfter ?? 1));
    response.status(status).json({
      success: false,
      error: { code, message, ...(details !== undefined && { details }) },
      // A misspelled field may be why the request failed.
      ...describeUnknown(unknownFieldPolicyOf(response).unknown),
    });
  };
}

/** Finds the tenant in the path: the parameters of the route are not known here any more. */
const TENANT = /^\/api\/v1\/tenants\/([^/]+)/;

/**
 * Errors that are logged as warnings, because an operator cannot mend them: a passing outage, or a tenant's wrong
 * address.
 */
const outsideCauses: ReadonlySet<string> = new Set(['UNAVAILABLE', 'UPSTREAM_FAILED', 'UPSTREAM_TIMEOUT']);

/** Errors that are logged at the usual level, because they may be an attack; without the body that was sent. */
const suspicious: ReadonlySet<number> = new Set([401, 403, 429]);

function report(logger: Logger, error: AppError, about: Record<string, unknown>): void {
  const line = { ...about, status: error.status, code: error.code };
  if (suspicious.has(error.status)) logger.info(line, 'request refused');
  else if (error.status < 500) logger.debug({ ...line, err: error }, 'request refused');
  else if (outsideCauses.has(error.code)) logger.warn({ ...line, ...whyNotServed(error) }, 'request not served');
  else logger.error({ ...line, err: error }, 'request failed');
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
