import type { Response } from '../route/route.ts';
import type { RequestEntry } from '../route/audit-entry.ts';

/** The outcome is recorded when the answer is sent; that of a handler which sends it itself, at its end. */
export async function recordOutcome<Answer>(
  entry: Pick<RequestEntry, 'end' | 'fail'>,
  response: Response,
  work: () => Promise<Answer>,
): Promise<Answer> {
  try {
    const answer = await work();
    if (response.headersSent) entry.end(response.statusCode);
    else entries.set(response, entry);
    return answer;
  } catch (error) {
    entry.fail(error);
    throw error;
  }
}

const entries = new WeakMap<Response, Pick<RequestEntry, 'end' | 'fail'>>();

/** Records the outcome of a request whose answer was just sent, by its handler if there is none here. */
export function noteAnswer(response: Response, answer?: object): void {
  entries.get(response)?.end(response.statusCode, answer);
}

/** Records that the answer could not be sent. */
export function failAnswer(response: Response, error: unknown): never {
  entries.get(response)?.fail(error);
  throw error;
}
