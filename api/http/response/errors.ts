import type { NextFunction, Request, Response } from 'express';
import { AppError, toAppError } from '#shared/core/errors.ts';
import type { Logger } from '#shared/core/logger.ts';
import { shownPath } from '#shared/runs/form-links.ts';
import type { Refusals } from '../limits/refusals.ts';
import { readClientError } from '../request/client-error.ts';
import { describeUnknown, unknownFieldPolicyOf } from '../request/unknown-field-policy.ts';
import { errorTitleFor, sendErrorPage } from './error-page.ts';
import { reportError } from './report-error.ts';

/** Answers a request that no route has matched: an unknown path, or another method of a known one. */
export function unknownPath(request: Request): never {
  throw new AppError('INVALID_REQUEST', `There is nothing at ${request.method} ${shownPath(request.path)}`, {
    status: 404,
  });
}

/** Turns every error into a response, a page where a browser shows it; cause and stack go to the log only. */
export function sendErrors({ logger, refusals }: { logger: Logger; refusals: Refusals }) {
  // Express knows an error handler by its four parameters.
  return (error: unknown, request: Request, response: Response, _next: NextFunction): void => {
    const known = readClientError(error, request) ?? toAppError(error);
    const { code, message, status, details } = known;
    refusals.note(known, TENANT.exec(request.path)?.[1]);
    reportError(logger, known, {
      method: request.method,
      path: shownPath(request.path),
      requestID: response.getHeader('x-request-id'),
    });
    if (response.headersSent) {
      response.destroy();
      return;
    }
    if (status === 429 || status === 503) response.setHeader('retry-after', Math.ceil(known.retryAfter ?? 1));
    const title = errorTitleFor({ url: request.originalUrl, headers: request.headers });
    if (title !== undefined) {
      const { retryAfter } = known;
      sendErrorPage(response, { title, status, message, retryAfter });
      return;
    }
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
