import type { z } from 'zod';
import type { Json } from '#shared/core/json.ts';
import type { redis } from '#shared/datasources/types/redis.ts';
import type { QueryResult } from '../../../connections/connection.ts';
import type { Call } from './client.ts';
import { listed, type Reply, sizeOf, textOf, written } from './replies.ts';

export type Query = z.output<(typeof redis)['query']>;

/** Larger values, and lists of values beyond this size, are not fetched. */
export const MAX_VALUES_BYTES = 32 * 1024 * 1024;
const PAGE = 1_000;

export interface Limits {
  signal: AbortSignal;
  maxRows: number;
}

interface Found {
  items: Reply[];
  truncated: boolean;
}

export function rowsOf({ items, truncated }: Found, encoding: 'text' | 'base64'): QueryResult {
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

export async function scan(
  call: Call,
  command: string[],
  words: string[],
  { signal, maxRows }: Limits,
): Promise<Found> {
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

export async function hash(
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

export async function list(
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

export async function entries(
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
