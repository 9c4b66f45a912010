import type { RequestEntry } from '../route/audit-entry.ts';
import type { Response } from '../route/route.ts';

/**
 * Runs a handler and records its outcome: at its end if it has sent the response itself, else when `recordResponse` is
 * called.
 */
export async function recordOutcome<Result>(
  entry: Pick<RequestEntry, 'end' | 'fail'>,
  response: Response,
  work: () => Promise<Result>,
): Promise<Result> {
  try {
    const result = await work();
    if (response.headersSent) entry.end(response.statusCode);
    else entries.set(response, entry);
    return result;
  } catch (error) {
    entry.fail(error);
    throw error;
  }
}

const entries = new WeakMap<Response, Pick<RequestEntry, 'end' | 'fail'>>();

/** Records the outcome of a request whose response was just sent, if the request has an entry in an audit trail. */
export function recordResponse(response: Response, result?: object): void {
  entries.get(response)?.end(response.statusCode, result);
}

/** Records that the response could not be sent. */
export function recordFailure(response: Response, error: unknown): never {
  entries.get(response)?.fail(error);
  throw error;
}
