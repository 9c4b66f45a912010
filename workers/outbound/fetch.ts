import type { Agent, Dispatcher } from 'undici';
import { createKeyedSemaphores } from '#shared/concurrency/semaphore.ts';
import { currentFlow, currentReservation } from '#shared/concurrency/work-context.ts';
import { CannotDecompress, codingsOf, decompress } from '#shared/core/decompress.ts';
import { AppError } from '#shared/core/errors.ts';
import type { Outbound } from './gate.ts';
import { checkHeader } from './headers.ts';
import { connectURL, portOf } from './tls.ts';
import { formatAddress, type Reason, reasonOf, saySent, upstreamError } from './upstream-error.ts';

/** HTTP through the gate, which checks every new connection, those of redirects included. */
export interface OutboundFetch extends AsyncDisposable {
  (request: HTTPRequest, signal: AbortSignal): Promise<HTTPResponse>;
}

export interface HTTPRequest {
  url: URL;
  method: string;
  /** Names in lower case. */
  headers?: Readonly<Record<string, string>>;
  body?: string | Buffer | null;
  followRedirects?: boolean;
}

export interface HTTPResponse {
  status: number;
  /** Names in lower case; several of one name are joined by a comma. */
  headers: Readonly<Record<string, string>>;
  body: Buffer;
  /** Address of the answer, after redirects. */
  url: URL;
}

interface FetchOptions {
  sslVerify?: boolean;
  /** Limit of a body, compressed and uncompressed. */
  maxBytes?: number;
  /** Whether a longer body is cut, without being unpacked, instead of causing an error. */
  cuts?: boolean;
}

const MAX_RESPONSE_BYTES = 10_000_000;
const MAX_REDIRECTS = 10;
/**
 * Connections to one origin, in one process. While only tenants of one creator use the origin, they may have four fifths of them, which
 * is more than the slots of a worker allow by default. Creators share them, so that slow answers to one do not delay another's.
 */
const CONNECTIONS = { permits: 128, dynamicLimit: 4 };

export function createOutboundFetch(
  outbound: Outbound,
  { sslVerify = true, maxBytes = MAX_RESPONSE_BYTES, cuts = false }: FetchOptions = {},
): OutboundFetch {
  let agent: Promise<Agent> | undefined;
  // Any number of requests may wait: nodes and requests of clients are limited before they come here.
  const origins = createKeyedSemaphores({ maxWaitingPerPermit: Number.POSITIVE_INFINITY });

  async function once(request: HTTPRequest, signal: AbortSignal): Promise<HTTPResponse> {
    const release = await origins.acquirePermit({ key: request.url.origin, ...CONNECTIONS }, currentFlow(), signal);
    if (!release) throw signal.reason;
    try {
      return await send(request, signal);
    } finally {
      release();
    }
  }

  async function send(request: HTTPRequest, signal: AbortSignal): Promise<HTTPResponse> {
    const { url, method, headers = {}, body = null } = request;
    agent ??= createAgent(outbound, sslVerify);
    const response = await (await agent).request({
      origin: url.origin,
      path: `${url.pathname}${url.search}`,
      method: method as Dispatcher.HttpMethod,
      headers: { 'user-agent': 'gantry', 'accept-encoding': 'gzip, deflate, br', ...headers },
      body,
      signal,
    });
    const received = joined(response.headers);
    const { statusCode: status } = response;
    if (cuts) return { status, headers: received, body: await beginningOf(response.body, maxBytes), url };
    const bytes = await collect(response.body, received, maxBytes, url);
    return { status, headers: received, body: await unpack(bytes, received, maxBytes, url), url };
  }

  async function readably(request: HTTPRequest, signal: AbortSignal): Promise<HTTPResponse> {
    checkRequest(request);
    try {
      return await once(request, signal);
    } catch (error) {
      throw await explain(error, request.url, signal);
    }
  }

  async function follow(request: HTTPRequest, signal: AbortSignal): Promise<HTTPResponse> {
    let current = request;
    for (let hops = 0; hops <= MAX_REDIRECTS; hops += 1) {
      const asked = current;
      // A server that redirects has received the request.
      const response = await saySent(hops > 0, () => readably(asked, signal));
      const next = request.followRedirects === false ? undefined : redirected(asked, response);
      if (!next) return response;
      current = next;
    }
    throw new AppError('UPSTREAM_FAILED', `${whereOf(request.url)} redirects more than ${MAX_REDIRECTS} times`, {
      retry: false,
    });
  }

  return Object.assign(follow, {
    async [Symbol.asyncDispose]() {
      await (await agent)?.destroy();
    },
  });
}

/** Loads undici with the first request: a worker that makes none is 4 to 7 MB smaller without it. */
export async function createAgent(outbound: Outbound, sslVerify: boolean): Promise<Agent> {
  const undici = await import('undici');
  return new undici.Agent({
    connections: CONNECTIONS.permits,
    pipelining: 1,
    keepAliveTimeout: 10_000,
    maxHeaderSize: 32_768,
    // The signal of the request is the only time limit.
    headersTimeout: 0,
    bodyTimeout: 0,
    connect({ protocol, hostname, port }, callback) {
      connectURL(
        outbound,
        { protocol, hostname, port: String(port) },
        { sslVerify, signal: AbortSignal.timeout(20_000) },
      ).then(
        (socket) => callback(null, socket),
        (error: Error) => callback(error, null),
      );
    },
  });
}

/** `host:port` of a URL, without parts that could be secret. */
export function whereOf(url: URL): string {
  return formatAddress(url.hostname.replace(/^\[|\]$/g, ''), portOf(url));
}

export function checkRequest({ url, headers = {} }: HTTPRequest): void {
  if (url.protocol !== 'http:' && url.protocol !== 'https:')
    throw new AppError('VALIDATION_ERROR', 'The URL must begin with http:// or https://');
  if (url.username !== '' || url.password !== '')
    throw new AppError('VALIDATION_ERROR', 'The URL must not hold a user or a password');
  for (const [name, value] of Object.entries(headers)) checkHeader(name, value);
}

const redirects: ReadonlySet<number> = new Set([301, 302, 303, 307, 308]);

/** Whether a response points to another address. */
export function isRedirect({ status }: Pick<HTTPResponse, 'status'>): boolean {
  return redirects.has(status);
}

/** The request to the target of a redirect; undefined if the response is none. */
function redirected(request: HTTPRequest, { status, headers }: HTTPResponse): HTTPRequest | undefined {
  const { location } = headers;
  if (!redirects.has(status) || location === undefined) return undefined;
  const { url } = request;
  const target = targetOf(location, url);
  if (url.protocol === 'https:' && target.protocol === 'http:')
    throw new AppError('UPSTREAM_FAILED', `${whereOf(url)} redirects to an address without encryption`, {
      retry: false,
    });

  const isRead = request.method === 'GET' || request.method === 'HEAD';
  const becomesGet = !isRead && (status === 303 || (request.method === 'POST' && (status === 301 || status === 302)));
  const dropped = (name: string) =>
    (target.origin !== url.origin && !ownHeaders.has(name)) || (becomesGet && name.startsWith('content-'));
  return {
    ...request,
    url: target,
    headers: Object.fromEntries(Object.entries(request.headers ?? {}).filter(([name]) => !dropped(name))),
    ...(becomesGet && { method: 'GET', body: null }),
  };
}

/** The only headers sent to another origin: others may be credentials. */
const ownHeaders: ReadonlySet<string> = new Set(['accept', 'content-type', 'user-agent']);

function targetOf(location: string, base: URL): URL {
  const target = URL.parse(location, base);
  const isUsable = target && /^https?:$/.test(target.protocol) && target.username === '' && target.password === '';
  if (!isUsable)
    throw new AppError(
      'UPSTREAM_FAILED',
      `${whereOf(base)} redirects to an address that is not http or https, or that has a user name`,
      {
        retry: false,
      },
    );
  return target;
}

export function joined(headers: Readonly<Record<string, string | string[] | undefined>>): Record<string, string> {
  const entries = Object.entries(headers).filter(
    (entry): entry is [string, string | string[]] => entry[1] !== undefined,
  );
  return Object.fromEntries(entries.map(([name, value]) => [name, Array.isArray(value) ? value.join(', ') : value]));
}

async function beginningOf(body: AsyncIterable<Buffer> & { destroy(): void }, maxBytes: number): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of body) {
    chunks.push(chunk);
    size += chunk.length;
    // Leaving the loop ends the connection, on which the server may send without end.
    if (size >= maxBytes) break;
  }
  return Buffer.concat(chunks).subarray(0, maxBytes);
}

async function collect(
  body: AsyncIterable<Buffer> & { destroy(): void },
  headers: Readonly<Record<string, string>>,
  maxBytes: number,
  url: URL,
): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of body) {
    size += chunk.length;
    // A body announced as too large is not read. A HEAD announces a body that it does not send.
    if (size > maxBytes || Number(headers['content-length']) > maxBytes) {
      body.destroy();
      throw tooLarge(maxBytes, url);
    }
    // While this waits for memory, nothing more is read.
    await currentReservation()?.reserve(chunk.length);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

async function unpack(
  bytes: Buffer,
  headers: Readonly<Record<string, string>>,
  maxBytes: number,
  url: URL,
): Promise<Buffer> {
  if (bytes.length === 0) return bytes;
  const reserve = (size: number) => currentReservation()?.reserve(size);
  try {
    return await decompress(bytes, codingsOf(headers['content-encoding']), { maxBytes, reserve });
  } catch (error) {
    if (!(error instanceof CannotDecompress)) throw error;
    if (error.reason === 'too-large') throw tooLarge(maxBytes, url);
    if (error.reason === 'broken')
      throw new AppError('UPSTREAM_FAILED', `${whereOf(url)} answers with broken compression`, { cause: error });
    throw new AppError('UPSTREAM_FAILED', `${whereOf(url)} answers in an encoding that it was not asked for`, {
      retry: false,
    });
  }
}

export function tooLarge(maxBytes: number, url: URL): AppError {
  return new AppError('UPSTREAM_FAILED', `${whereOf(url)} answers with more than ${maxBytes / 1_000_000} MB`, {
    retry: false,
    details: { reason: 'too-large' },
  });
}

const byCode: Readonly<Record<string, Reason>> = {
  UND_ERR_SOCKET: 'lost',
  UND_ERR_CONNECT_TIMEOUT: 'timeout',
};

export async function explain(error: unknown, url: URL, signal: AbortSignal): Promise<unknown> {
  if (signal.aborted) return signal.reason;
  if (error instanceof AppError) return error;
  const reason = reasonOf(error) ?? byCode[codeOf(error)];
  if (reason) return upstreamError(reason, whereOf(url), error);
  const { errors } = await import('undici');
  if (error instanceof errors.UndiciError || error instanceof errors.HTTPParserError)
    return new AppError('UPSTREAM_FAILED', `${whereOf(url)} sent an invalid HTTP response`, {
      cause: error,
    });
  return error;
}

function codeOf(error: unknown): string {
  return error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : '';
}
