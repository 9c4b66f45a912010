import { type AISettings, addressOf } from '#shared/apps/ai/providers.ts';
import { AppError } from '#shared/core/errors.ts';
import { whereOf } from '../outbound/fetch.ts';
import { readRetryAfter } from '../outbound/retry-after.ts';
import { upstreamError } from '../outbound/upstream-error.ts';

const MAX_MESSAGE = 300;

/**
 * The error of a call in our words. Errors of the library carry the prompt and the headers of the answer, so they are not kept as causes.
 */
export async function explainCall(error: unknown, settings: AISettings, signal: AbortSignal): Promise<unknown> {
  const where = whereOf(new URL(addressOf(settings) ?? 'http://localhost'));
  if (signal.aborted) return signal.reason instanceof AppError ? signal.reason : upstreamError('timeout', where);
  if (error instanceof AppError) return error;
  const { APICallError, RetryError, AISDKError } = await import('ai');
  if (RetryError.isInstance(error)) return explainCall(error.lastError, settings, signal);
  if (APICallError.isInstance(error)) {
    if (error.cause instanceof AppError) return error.cause;
    return refused(error, settings, where);
  }
  if (AISDKError.isInstance(error))
    return new AppError('UPSTREAM_FAILED', `The answer of ${where} is not of the protocol of ${settings.provider}`, {
      cause: new Error(error.name),
      details: { reason: 'invalid-answer' },
    });
  return error;
}

interface Refusal {
  message: string;
  statusCode?: number | undefined;
  responseHeaders?: Record<string, string> | undefined;
}

function refused({ message, statusCode = 0, responseHeaders = {} }: Refusal, settings: AISettings, where: string) {
  if (statusCode === 401 || statusCode === 403) return upstreamError('authentication', where);
  if (statusCode === 404)
    return new AppError('UPSTREAM_FAILED', `${where} has no model "${settings.model}", or no such address`, {
      retry: false,
      details: { reason: 'not-found' },
    });
  if (statusCode === 429)
    return new AppError('RATE_LIMITED', `${where} takes no more calls at the moment`, {
      retry: true,
      retryAfter: secondsOf(responseHeaders['retry-after']),
      details: { reason: 'provider' },
      reason: 'provider',
    });
  if (statusCode >= 200 && statusCode < 300)
    return new AppError('UPSTREAM_FAILED', `The answer of ${where} is not of the protocol of ${settings.provider}`, {
      details: { reason: 'invalid-answer' },
    });
  const said = settings.apiKey ? message.replaceAll(settings.apiKey, '…') : message;
  return new AppError('UPSTREAM_FAILED', `${where} answered ${statusCode}: ${said.slice(0, MAX_MESSAGE)}`, {
    retry: statusCode >= 500,
    details: { reason: 'refused', status: statusCode },
  });
}

const MAX_RETRY_AFTER = 3_600;

/** Seconds of a Retry-After header; 5 if there is none, or if it cannot be read. */
function secondsOf(header: string | undefined): number {
  const ms = readRetryAfter(header) ?? 5_000;
  return Math.min(Math.max(Math.ceil(ms / 1_000), 1), MAX_RETRY_AFTER);
}
