import type { Socket } from 'node:net';
import { AbstractConnector, Redis } from 'ioredis';
import type { z } from 'zod';
import type { redis } from '#shared/datasources/redis.ts';
import { AppError } from '#shared/errors.ts';
import type { Json } from '#shared/json.ts';
import { bytesOfWork } from '#shared/work.ts';
import { invalidField } from '#shared/workflow/issues.ts';
import type { QueryResult } from '../connections/connection.ts';
import { bytesOf } from '../connections/payload.ts';
import { createSharedConnection } from '../connections/shared-connection.ts';
import { type Certificates, openStream } from '../outbound/tls.ts';
import { placeOf, upstreamError } from '../outbound/upstream-error.ts';
import type { Connector } from './connector.ts';

type Query = z.output<(typeof redis)['query']>;
/** Replies of the driver: bulk strings as bytes, integers as text, since a double cannot hold all of them. */
type Reply = Buffer | string | null | Reply[];
type Call = (command: string, ...words: (string | Buffer | number)[]) => Promise<Reply>;

/** Larger values, and lists of values beyond this size, are not fetched. */
const MAX_VALUES_BYTES = 32 * 1024 * 1024;
const PAGE = 1_000;

/** One connection for all calls: Redis runs one command at a time anyway, and no command here blocks. */
export const connectRedis: Connector<typeof redis> = (options, { outbound }) => {
  const endpoint = endpointOf(options);
  const where = placeOf(endpoint.host, endpoint.port);
  const shared = createSharedConnection<Redis>({
    where,
    async open(signal) {
      const client = clientOn(await openStream(endpoint, outbound, signal));
      try {
        await client.connect();
        await signIn(client, endpoint, where);
        return client;
      } catch (error) {
        client.disconnect();
        throw error;
      }
    },
    isOpen: (client) => client.status === 'ready',
    close: (client) => client.disconnect(),
  });

  return {
    test: (signal) =>
      shared.use(signal, async (client) => {
        await callOn(client, where)('PING');
      }),
    execute: ({ query }, { signal, maxRows }) =>
      shared.use(signal, (client) => executeOperation(query, callOn(client, where), { signal, maxRows })),
    [Symbol.asyncDispose]: () => shared[Symbol.asyncDispose](),
  };
};

interface RedisEndpoint {
  host: string;
  port: number;
  username: string;
  password: string;
  database: number;
  certificates: Certificates | null;
}

function endpointOf(options: z.output<(typeof redis)['options']>): RedisEndpoint {
  if (options.connectionOption === 'connectionDetails') {
    const { tls, ...details } = options.connectionDetails;
    return { ...details, certificates: tls ? details : null };
  }
  const url = URL.parse(options.connectionUrl);
  const database = /^\/?(\d{0,2})$/.exec(url?.pathname ?? '')?.[1];
  if (!url || !/^rediss?:$/.test(url.protocol) || !url.hostname || database === undefined || url.search || url.hash)
    throw invalidField(
      'datasourceOptions.connectionUrl',
      'must be like redis://user:password@host:6379/0 (rediss:// with TLS), without parameters',
    );
  return {
    host: url.hostname.replace(/^\[(.*)\]$/, '$1'),
    port: Number(url.port || 6379),
    username: decoded(url.username),
    password: decoded(url.password),
    database: Number(database || 0),
    certificates: url.protocol === 'rediss:' ? options : null,
  };
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    throw invalidField('datasourceOptions.connectionUrl', 'has a % that begins no encoded character');
  }
}

/** The driver on a connected socket. It neither connects nor signs in by itself, so it never reconnects. */
function clientOn(socket: Socket): Redis {
  class Given extends AbstractConnector {
    constructor() {
      super(1_000);
    }
    async connect(): Promise<Socket> {
      this.connecting = true;
      this.stream = socket;
      return socket;
    }
  }
  const client = new Redis({
    Connector: Given,
    lazyConnect: true,
    protocol: 2,
    stringNumbers: true,
    disableClientInfo: true,
    enableReadyCheck: false,
    enableOfflineQueue: false,
    autoResendUnfulfilledCommands: false,
    retryStrategy: () => null,
  });
  client.on('error', () => undefined);
  return client;
}

async function signIn(client: Redis, { username, password, database }: RedisEndpoint, where: string): Promise<void> {
  if (password !== '' || username !== '') {
    const words = username === '' ? [password] : [username, password];
    await client.call('AUTH', ...words).catch((error: unknown) => {
      throw upstreamError(isReply(error) ? 'authentication' : 'lost', where, redacted(error));
    });
  }
  const call = callOn(client, where);
  await call('PING');
  if (database === 0) return;
  await call('SELECT', database).catch((error: unknown) => {
    throw error instanceof AppError && error.code === 'DB_ERROR' ? upstreamError('not-found', where, error) : error;
  });
}

function callOn(client: Redis, where: string): Call {
  return async (command, ...words) => {
    const reply = await send();
    await bytesOfWork()?.draw(sizeOf(reply));
    return reply;

    async function send(): Promise<Reply> {
      try {
        return (await client.callBuffer(command, ...words)) as Reply;
      } catch (error) {
        throw isReply(error) ? replyError(error, where) : upstreamError('lost', where, redacted(error));
      }
    }
  };
}

function isReply(error: unknown): error is Error {
  return error instanceof Error && error.name === 'ReplyError';
}

/** The driver attaches the command and its arguments, here the password, to the error, which would be logged. */
function redacted(error: unknown): Error {
  if (!(error instanceof Error)) return new Error('the driver gave no reason');
  const { message } = error;
  return new Error(isReply(error) ? message.split(' ', 1)[0] : message);
}

function replyError(error: Error, where: string): AppError {
  const [kind = ''] = error.message.split(' ', 1);
  if (kind === 'NOAUTH') return upstreamError('authentication', where, redacted(error));
  if (kind === 'LOADING' || kind === 'BUSY' || /max number of clients/.test(error.message))
    return upstreamError('busy', where, redacted(error));
  return new AppError('DB_ERROR', error.message.slice(0, 500), {
    cause: redacted(error),
    details: { redis_code: kind },
  });
}

interface Limits {
  signal: AbortSignal;
  maxRows: number;
}

async function executeOperation(query: Query, call: Call, limits: Limits): Promise<QueryResult> {
  switch (query.operation) {
    case 'keys':
      return rowsOf(await scan(call, ['SCAN'], ['MATCH', query.pattern], limits), 'text');
    case 'smembers':
      return rowsOf(await scan(call, ['SSCAN', String(query.key)], [], limits), query.encoding);
    case 'hgetall':
      return hash(query, call, limits);
    case 'lrange':
      return list(query, call, limits);
    case 'xread':
    case 'xrange':
      return entries(query, call, limits);
    default:
      return plain(query, call);
  }
}

type Listing = Extract<Query, { operation: 'keys' | 'smembers' | 'hgetall' | 'lrange' | 'xread' | 'xrange' }>;
type Plain = Exclude<Query, Listing>;

async function plain(query: Plain, call: Call): Promise<QueryResult> {
  if (query.operation === 'get') await refuseHuge(call, 'STRLEN', query.key);
  if (query.operation === 'hget') await refuseHuge(call, 'HSTRLEN', query.key, query.field);
  const reply = await call(query.operation.toUpperCase(), ...wordsOf(query));
  const data = written(reply, 'encoding' in query && reads.has(query.operation) ? query.encoding : 'text');
  return writes.has(query.operation) && typeof data === 'number' ? { data, affectedRows: data } : { data };
}

/** Commands that answer with a value; others answer with a number or a status. */
const reads: ReadonlySet<Query['operation']> = new Set(['get', 'hget', 'lpop', 'rpop']);
const writes: ReadonlySet<Query['operation']> = new Set(['del', 'expire', 'hset', 'hdel', 'sadd', 'srem']);

/** Arguments of the command, each sent apart, so that no value is read as a command. */
function wordsOf(query: Plain): (string | Buffer)[] {
  if (query.operation === 'publish') return [String(query.channel), bytesOf('value', query.value, query.encoding)];
  const keys = several(query.key).map(String);
  switch (query.operation) {
    case 'set':
      return [
        ...keys,
        bytesOf('value', query.value, query.encoding),
        ...(query.ttl === undefined ? [] : ['EX', String(query.ttl)]),
      ];
    case 'expire':
      return [...keys, String(query.ttl)];
    case 'hget':
    case 'hdel':
      return [...keys, ...several(query.field).map(String)];
    case 'hset':
      return [...keys, String(query.field), bytesOf('value', query.value, query.encoding)];
    case 'sismember':
      return [...keys, bytesOf('value', query.value, query.encoding)];
    case 'lpush':
    case 'rpush':
    case 'sadd':
    case 'srem':
      return [...keys, ...several<Json>(query.value).map((value) => bytesOf('value', value, query.encoding))];
    case 'xadd':
      return [
        ...keys,
        '*',
        ...Object.entries(query.value).flatMap(([name, value]) => [name, bytesOf('value', value, query.encoding)]),
      ];
    default:
      return keys;
  }
}

function several<T>(value: T | T[]): T[] {
  return Array.isArray(value) ? value : [value];
}

async function refuseHuge(call: Call, command: string, ...words: (string | number)[]): Promise<void> {
  const length = Number(await call(command, ...words.map(String)));
  if (length > MAX_VALUES_BYTES)
    throw new AppError(
      'PAYLOAD_TOO_LARGE',
      `The value has ${length} bytes; more than ${MAX_VALUES_BYTES} are not read`,
    );
}

const strict = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

function written(reply: Reply, encoding: 'text' | 'base64'): Json {
  if (reply === null) return null;
  if (typeof reply === 'string') return numberOf(reply);
  if (Array.isArray(reply)) return reply.map((one) => written(one, encoding));
  return encoding === 'base64' ? reply.toString('base64') : textOf(reply);
}

function textOf(reply: Reply | undefined): string {
  if (!Buffer.isBuffer(reply)) return String(reply);
  try {
    return strict.decode(reply);
  } catch (cause) {
    throw new AppError('DB_ERROR', 'What is stored there is no text; it can be read as base64', { cause });
  }
}

/** Converts an integer reply; a status such as OK stays text. */
function numberOf(text: string): Json {
  const number = Number(text);
  return /^-?\d+$/.test(text) && Number.isSafeInteger(number) ? number : text;
}

interface Found {
  items: Reply[];
  truncated: boolean;
}

function rowsOf({ items, truncated }: Found, encoding: 'text' | 'base64'): QueryResult {
  return { data: items.map((item) => written(item, encoding)), rowCount: items.length, truncated };
}

/** Scans page by page, because `KEYS`, `SMEMBERS` and `HGETALL` block the server and fill our memory. */
async function* pages(call: Call, command: string[], words: string[], signal: AbortSignal): AsyncGenerator<Reply[]> {
  let cursor = '0';
  do {
    signal.throwIfAborted();
    const [name = '', ...key] = command;
    const [next, page] = listed(await call(name, ...key, cursor, ...words, 'COUNT', String(PAGE)));
    yield listed(page);
    cursor = textOf(next);
  } while (cursor !== '0');
}

async function scan(call: Call, command: string[], words: string[], { signal, maxRows }: Limits): Promise<Found> {
  // While a table grows, SCAN may return the same element twice.
  const found = new Map<string, Reply>();
  let size = 0;
  for await (const page of pages(call, command, words, signal)) {
    for (const item of page) {
      const id = Buffer.isBuffer(item) ? item.toString('latin1') : String(item);
      if (found.has(id)) continue;
      if (found.size === maxRows || size > MAX_VALUES_BYTES) return { items: [...found.values()], truncated: true };
      found.set(id, item);
      size += sizeOf(item);
    }
  }
  return { items: [...found.values()], truncated: false };
}

async function hash(
  { key, encoding }: Extract<Query, { operation: 'hgetall' }>,
  call: Call,
  { signal, maxRows }: Limits,
): Promise<QueryResult> {
  const found = new Map<string, Json>();
  let size = 0;
  let truncated = false;
  scanning: for await (const page of pages(call, ['HSCAN', String(key)], [], signal)) {
    for (let at = 0; at < page.length; at += 2) {
      const name = textOf(page[at]);
      if (!found.has(name) && (found.size === maxRows || size > MAX_VALUES_BYTES)) {
        truncated = true;
        break scanning;
      }
      found.set(name, written(page[at + 1] ?? null, encoding));
      size += sizeOf(page[at + 1]);
    }
  }
  return { data: Object.fromEntries(found), rowCount: found.size, truncated };
}

async function list(
  { key, encoding, ...range }: Extract<Query, { operation: 'lrange' }>,
  call: Call,
  { signal, maxRows }: Limits,
): Promise<QueryResult> {
  const length = Number(await call('LLEN', String(key)));
  const start = Math.max(0, range.start < 0 ? range.start + length : range.start);
  const stop = Math.min(length - 1, range.stop < 0 ? range.stop + length : range.stop);
  const last = Math.min(stop, start + maxRows - 1);
  const items: Reply[] = [];
  let size = 0;
  for (let at = start; at <= last && size <= MAX_VALUES_BYTES; at += PAGE) {
    signal.throwIfAborted();
    const page = listed(await call('LRANGE', String(key), at, Math.min(last, at + PAGE - 1)));
    items.push(...page);
    size += page.reduce<number>((sum, item) => sum + sizeOf(item), 0);
  }
  return rowsOf({ items, truncated: start + items.length <= stop }, encoding);
}

async function entries(
  query: Extract<Query, { operation: 'xread' | 'xrange' }>,
  call: Call,
  { signal, maxRows }: Limits,
): Promise<QueryResult> {
  const wanted = Math.min(query.count ?? maxRows, maxRows);
  const [start, stop] =
    query.operation === 'xread' ? [`(${query.streamId}`, '+'] : [String(query.start), String(query.stop)];
  const found: Reply[] = [];
  let size = 0;
  // Reads one more than it returns, to know whether there are more.
  for (let from = start; found.length <= wanted && size <= MAX_VALUES_BYTES; ) {
    signal.throwIfAborted();
    const count = Math.min(PAGE, wanted + 1 - found.length);
    const page = listed(await call('XRANGE', String(query.key), from, stop, 'COUNT', count));
    found.push(...page);
    size += sizeOf(page);
    if (page.length < count) break;
    from = `(${textOf(listed(page.at(-1))[0])}`;
  }
  const isCut = size > MAX_VALUES_BYTES;
  const data = found.slice(0, wanted).map((entry): Json => {
    const [id, words] = listed(entry);
    const pairs = listed(words);
    const fields = pairs.flatMap((name, at): [string, Json][] =>
      at % 2 === 0 ? [[textOf(name), written(pairs[at + 1] ?? null, query.encoding)]] : [],
    );
    return { id: textOf(id), fields: Object.fromEntries(fields) };
  });
  return { data, rowCount: data.length, truncated: isCut || found.length > wanted };
}

function listed(reply: Reply | undefined): Reply[] {
  return Array.isArray(reply) ? reply : [];
}

function sizeOf(reply: Reply | undefined): number {
  if (Array.isArray(reply)) return reply.reduce<number>((sum, one) => sum + sizeOf(one), 8);
  return Buffer.isBuffer(reply) ? reply.length : 8;
}
