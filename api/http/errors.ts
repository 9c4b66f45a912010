import type { NextFunction, Request, Response } from 'express';
import { AppError, toAppError } from '#shared/errors.ts';
import type { Logger } from '#shared/logger.ts';
import { describeUnknown, handlingOf } from './handling.ts';

/** The end of the line for whatever no route has taken: an unknown path, or another method of a known one. */
export function unknownPath(request: Request): never {
  throw new AppError('INVALID_REQUEST', `There is nothing at ${request.method} ${request.path}`, { status: 404 });
}

/** The only place that turns an error into an answer; the cause and the stack stay in the log. */
export function answerErrors(logger: Logger) {
  // Express knows an error handler by its four parameters.
  return (error: unknown, request: Request, response: Response, _next: NextFunction): void => {
    const known = fromHTTP(error) ?? toAppError(error);
    const { code, message, status, details } = known;
    report(logger, known, {
      method: request.method,
      path: request.path,
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
      ...describeUnknown(handlingOf(response).unknown),
    });
  };
}

/** Nobody is to be woken for these: they pass, or are what somebody has typed in. */
const notOurs: ReadonlySet<string> = new Set(['UNAVAILABLE', 'UPSTREAM_FAILED', 'UPSTREAM_TIMEOUT']);

/** Somebody is trying what they may not, or too often: worth a line, without what they sent. */
const watched: ReadonlySet<number> = new Set([401, 403, 429]);

function report(logger: Logger, error: AppError, about: Record<string, unknown>): void {
  const line = { ...about, status: error.status, code: error.code };
  if (watched.has(error.status)) logger.info(line, 'request refused');
  else if (error.status < 500) logger.debug({ ...line, err: error }, 'request refused');
  else if (notOurs.has(error.code)) logger.warn({ ...line, err: error }, 'request not served');
  else logger.error({ ...line, err: error }, 'request failed');
}

/** What Express and the body parsers throw at a request that is not even one. */
function fromHTTP(error: unknown): AppError | undefined {
  if (!(error instanceof Error && 'status' in error && typeof error.status === 'number')) return undefined;
  if (error instanceof AppError || error.status < 400 || error.status > 499) return undefined;
  if (error.status === 413) return new AppError('PAYLOAD_TOO_LARGE', 'The body is too large', { cause: error });
  const type = 'type' in error ? error.type : undefined;
  const message = type === 'entity.parse.failed' ? 'The body is not valid JSON' : 'The request is malformed';
  return new AppError('INVALID_REQUEST', message, { cause: error });
}
