import { parseJSON } from '#shared/concurrency/parse-json.ts';
import { AppError } from '#shared/core/errors.ts';
import type { Json } from '#shared/core/json.ts';
import type { CallOutcome, Job } from './protocol.ts';

/** Returns the value of user code, or throws the error for the run. */
export async function readOutcome(outcome: CallOutcome, job: Job): Promise<Json> {
  switch (outcome.kind) {
    case 'value':
      return (await parseJSON(outcome.json)) as Json;
    case 'thrown': {
      const { name, message, line, column } = outcome;
      const where = line === null ? '' : ` (line ${line})`;
      throw new AppError('NODE_FAILED', `${name}: ${message}${where}`, {
        retry: !deterministic.has(name),
        ...(line !== null && { details: { line, ...(column !== null && { column }) } }),
      });
    }
    case 'invalid':
      throw new AppError('INVALID_OUTPUT', `The result is not JSON: ${outcome.message}`);
    case 'large':
      throw new AppError(
        'OUTPUT_TOO_LARGE',
        `The result is larger than the limit of ${job.maxOutputBytes} bytes (NODE_OUTPUT_MAX_BYTES)`,
      );
    case 'memory':
      throw new AppError('NODE_FAILED', `The code exceeded its memory limit of ${job.memoryMB} MB`, { retry: false });
    case 'timeout':
      throw new AppError(
        'NODE_TIMEOUT',
        `The code did not finish within ${job.timeoutMs} ms${job.timeoutSetBy ? ` (${job.timeoutSetBy})` : ''}`,
      );
    case 'pending':
      throw new AppError('NODE_TIMEOUT', 'The code waits for a promise that is never settled', { retry: false });
    case 'lost':
      throw new AppError('NODE_FAILED', 'The process that ran this code ended unexpectedly', {
        cause: outcome.message,
      });
  }
}

/** Errors that occur again with the same code and input. */
const deterministic: ReadonlySet<string> = new Set(['SyntaxError', 'ReferenceError', 'TypeError']);
