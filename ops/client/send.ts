import { GantryError, retryAfterOf } from './errors.ts';

export interface Sending {
  fetch: (request: Request) => Promise<Response>;
  /** How often a request that may be repeated is sent again. */
  retries: number;
  /** How long one attempt may take until the answer has begun. */
  timeoutMs: number;
}

const LONGEST_WAIT_SECONDS = 30;

/**
 * Sends a request, and again if no answer came or the service says that it cannot answer at present. Only what may be repeated is:
 * requests that read, and those with an idempotency key, by which two of them have one effect. A request that was refused by a
 * limit had no effect, so it is always sent again.
 */
export function createSend({ fetch, retries, timeoutMs }: Sending): (request: Request) => Promise<Response> {
  return async (request) => {
    const isRepeatable = request.method === 'GET' || request.headers.has('idempotency-key');
    for (let attempt = 0; attempt < retries; attempt += 1) {
      const outcome = await tryOnce({ fetch, timeoutMs }, request.clone());
      const seconds = pauseAfter(outcome, { isRepeatable, attempt });
      if (seconds === undefined) return answerIn(outcome);
      if (outcome instanceof Response) await outcome.body?.cancel();
      await pause(seconds, request.signal);
    }
    return answerIn(await tryOnce({ fetch, timeoutMs }, request));
  };
}

/** Returns the failure of an attempt without a response; only the caller's abort is thrown. */
async function tryOnce(
  { fetch, timeoutMs }: Pick<Sending, 'fetch' | 'timeoutMs'>,
  request: Request,
): Promise<Response | GantryError> {
  const late = new AbortController();
  const timer = setTimeout(() => late.abort(), timeoutMs);
  const { host } = new URL(request.url);
  try {
    return await fetch(new Request(request, { signal: AbortSignal.any([request.signal, late.signal]) }));
  } catch (error) {
    request.signal.throwIfAborted();
    if (late.signal.aborted) return new GantryError('TIMEOUT', `No answer of ${host} within ${timeoutMs / 1_000} s`);
    return new GantryError('UNREACHABLE', `${host} cannot be reached: ${reasonOf(error)}`, { cause: error });
  } finally {
    clearTimeout(timer);
  }
}

function answerIn(outcome: Response | GantryError): Response {
  if (outcome instanceof Response) return outcome;
  throw outcome;
}

/** Seconds until the next attempt; undefined if there is none. */
function pauseAfter(
  outcome: Response | GantryError,
  { isRepeatable, attempt }: { isRepeatable: boolean; attempt: number },
): number | undefined {
  // With a random part, so that clients which were refused together do not come back together.
  const growing = Math.min(0.2 * 2 ** attempt, 5) * (0.5 + Math.random());
  if (!(outcome instanceof Response)) return isRepeatable ? growing : undefined;
  const asked = retryAfterOf(outcome);
  if (asked !== undefined && asked > LONGEST_WAIT_SECONDS) return undefined;
  if (outcome.status === 429) return asked;
  return isRepeatable && [502, 503, 504].includes(outcome.status) ? (asked ?? growing) : undefined;
}

/** `fetch` says only that it failed; the reason is in the cause. */
function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const { cause } = error;
  return (cause instanceof Error && (cause.message || ('code' in cause && String(cause.code)))) || error.message;
}

export function pause(seconds: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted) return reject(signal.reason);
    const timer = setTimeout(() => {
      signal?.removeEventListener('abort', stop);
      resolve();
    }, seconds * 1_000);
    function stop() {
      clearTimeout(timer);
      reject(signal?.reason);
    }
    signal?.addEventListener('abort', stop, { once: true });
  });
}
