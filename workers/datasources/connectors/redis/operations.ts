import { AppError } from '#shared/core/errors.ts';
import type { Json } from '#shared/core/json.ts';
import type { QueryResult } from '../../../connections/connection.ts';
import { bytesOf } from '../../../connections/payload.ts';
import type { Call } from './client.ts';
import { entries, hash, type Limits, list, MAX_VALUES_BYTES, type Query, rowsOf, scan } from './listings.ts';
import { written } from './replies.ts';

export async function executeOperation(query: Query, call: Call, limits: Limits): Promise<QueryResult> {
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
      return executeCommand(query, call);
  }
}

type Listing = Extract<Query, { operation: 'keys' | 'smembers' | 'hgetall' | 'lrange' | 'xread' | 'xrange' }>;
type Plain = Exclude<Query, Listing>;

/** Executes an operation that is one command. */
async function executeCommand(query: Plain, call: Call): Promise<QueryResult> {
  if (query.operation === 'get') await refuseHuge(call, 'STRLEN', query.key);
  if (query.operation === 'hget') await refuseHuge(call, 'HSTRLEN', query.key, query.field);
  const reply = await call(query.operation.toUpperCase(), ...wordsOf(query));
  const data = written(reply, 'encoding' in query && reads.has(query.operation) ? query.encoding : 'text');
  return writes.has(query.operation) && typeof data === 'number' ? { data, affectedRows: data } : { data };
}

/** Commands that answer with a value; others answer with a number or a status. */
const reads: ReadonlySet<Query['operation']> = new Set(['get', 'hget', 'lpop', 'rpop']);
/** Commands that answer with the number of changed elements. */
const writes: ReadonlySet<Query['operation']> = new Set(['del', 'expire', 'hset', 'hdel', 'sadd', 'srem']);

/** Arguments of the command, each sent separately, so that no value is read as a command. */
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
