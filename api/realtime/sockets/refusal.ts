import type { AppError } from '#shared/core/errors.ts';
import type { Logger } from '#shared/core/logger.ts';
import { reportedHandshake } from '../../http/response/report-error.ts';

/** Logs a handshake that is refused; the error has what the client gets. */
export function refusalOf(logger: Logger, error: AppError): Error {
  const data = reportedHandshake(logger, error, {});
  return Object.assign(new Error(data.message), { data });
}
