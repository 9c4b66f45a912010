import { checkRequest, createAgent, explain, joined, tooLarge } from './fetch.ts';
import type { Outbound } from './gate.ts';

/** `fetch` through the gate, for libraries that read an answer while it arrives. Redirects are not followed: credentials go nowhere else. */
export interface StreamingFetch extends AsyncDisposable {
  (address: string | URL | Request, init?: RequestInit): Promise<Response>;
}

/** Limit of one response. */
const MAX_BYTES = 8_000_000;

const withoutBody: ReadonlySet<number> = new Set([204, 205, 304]);

export function createStreamingFetch(outbound: Outbound): StreamingFetch {
  let agent: ReturnType<typeof createAgent> | undefined;

  async function stream(address: string | URL | Request, init: RequestInit = {}): Promise<Response> {
    const url = new URL(address instanceof Request ? address.url : address);
    const { method = 'GET', body, signal } = init;
    if (typeof body !== 'string' && body !== undefined && body !== null)
      throw new TypeError('The body of a streamed request must be a text');
    const requestSignal = signal ?? new AbortController().signal;
    const headers = Object.fromEntries(new Headers(init.headers));
    checkRequest({ url, method, headers });
    agent ??= createAgent(outbound, true);
    try {
      const answer = await (await agent).request({
        origin: url.origin,
        path: `${url.pathname}${url.search}`,
        // Safe: libraries send the methods of HTTP.
        method: method as 'GET' | 'POST',
        headers: { ...headers, 'user-agent': 'gantry', 'accept-encoding': 'identity' },
        body: body ?? null,
        signal: requestSignal,
      });
      const { statusCode: status } = answer;
      const isEmpty = withoutBody.has(status);
      if (isEmpty) await answer.body.dump();
      const text = isEmpty ? null : ReadableStream.from(bounded(answer.body, url, requestSignal));
      return new Response(text, { status, headers: joined(answer.headers) });
    } catch (error) {
      throw await explain(error, url, requestSignal);
    }
  }

  return Object.assign(stream, {
    async [Symbol.asyncDispose]() {
      await (await agent)?.destroy();
    },
  });
}

/** Ends the connection when its reader stops, and after too many bytes. */
async function* bounded(body: AsyncIterable<Buffer>, url: URL, signal: AbortSignal): AsyncGenerator<Uint8Array> {
  let size = 0;
  try {
    for await (const chunk of body) {
      size += chunk.length;
      if (size > MAX_BYTES) throw tooLarge(MAX_BYTES, url);
      yield chunk;
    }
  } catch (error) {
    throw await explain(error, url, signal);
  }
}
