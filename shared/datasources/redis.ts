import { z } from 'zod';
import { Json } from '../json.ts';
import { destination, secret } from '../secret.ts';
import { defineDatasource } from './define-datasource.ts';
import { certificateFields } from './tls.ts';

/** A name, or a number to be used as a name. */
const word = z.union([z.string().max(65_536), z.number()]);
const key = word.meta({ title: 'Key' });
const keys = z.union([word, z.array(word).min(1).max(1_000)]).meta({ title: 'Key', description: 'One, or a list' });
const field = word.meta({ title: 'Field' });
const fields = z.union([word, z.array(word).min(1).max(1_000)]).meta({ title: 'Field', description: 'One, or a list' });
const stored = z.union([z.string(), z.number(), z.boolean(), z.record(z.string(), Json)]);
const value = z
  .union([stored, z.array(Json)])
  .meta({ title: 'Value', description: 'Other values than text are stored as JSON' });
const values = z
  .union([
    stored,
    z
      .array(z.union([stored, z.array(Json)]))
      .min(1)
      .max(10_000),
  ])
  .meta({ title: 'Value', description: 'One, or a list of several' });
const ttl = z.int().min(1).meta({ title: 'Lifetime (s)' });
const count = z.int().min(1).max(100_000).meta({ title: 'Count' });
const index = z.int().meta({ description: 'Negative: counted from the end' });
const streamID = word.meta({ title: 'Stream id' });
/** How values, which are bytes in Redis, are written in queries and results. */
const encoding = z.enum(['text', 'base64']).default('text').meta({ title: 'Values are' });

const operation = <Name extends string>(name: Name) => z.literal(name).meta({ title: 'Operation' });

/** Redis, Valkey and servers with their protocol; one server, not a cluster. */
export const redis = defineDatasource({
  type: 'redis',
  label: 'Redis',
  category: 'database',
  options: z.discriminatedUnion('connectionOption', [
    z.object({
      connectionOption: z.literal('connectionDetails'),
      connectionDetails: z.object({
        connectionName: z.string().max(255).optional().meta({ title: 'Name' }),
        host: destination(z.string().min(1).max(253)).meta({ title: 'Host' }),
        port: destination(z.int().min(1).max(65_535)).default(6379).meta({ title: 'Port' }),
        username: z.string().max(255).default('').meta({ title: 'User' }),
        password: secret(z.string()).default('').meta({ title: 'Password' }),
        database: z.int().min(0).max(15).default(0).meta({ title: 'Database' }),
        tls: destination(z.boolean()).default(false).meta({ title: 'TLS' }),
        ...certificateFields,
      }),
    }),
    z.object({
      connectionOption: z.literal('connectionUrl'),
      connectionUrl: secret(z.string().min(1).max(2_048)).meta({
        title: 'Connection URL',
        description: 'redis://user:password@host:6379/0, rediss:// with TLS',
      }),
      ...certificateFields,
    }),
  ]),
  query: z.discriminatedUnion('operation', [
    z.object({ operation: operation('get'), key, encoding }),
    z.object({ operation: operation('set'), key, value, ttl: ttl.optional(), encoding }),
    z.object({ operation: operation('del'), key: keys }),
    z.object({ operation: operation('exists'), key: keys }),
    z.object({ operation: operation('keys'), pattern: z.string().default('*').meta({ title: 'Pattern' }) }),
    z.object({ operation: operation('expire'), key, ttl }),
    z.object({ operation: operation('ttl'), key }),
    z.object({ operation: operation('hget'), key, field, encoding }),
    z.object({ operation: operation('hset'), key, field, value, encoding }),
    z.object({ operation: operation('hgetall'), key, encoding }),
    z.object({ operation: operation('hdel'), key, field: fields }),
    z.object({ operation: operation('lpush'), key, value: values, encoding }),
    z.object({ operation: operation('rpush'), key, value: values, encoding }),
    z.object({ operation: operation('lpop'), key, encoding }),
    z.object({ operation: operation('rpop'), key, encoding }),
    z.object({
      operation: operation('lrange'),
      key,
      start: index.default(0).meta({ title: 'From' }),
      stop: index.default(-1).meta({ title: 'To' }),
      encoding,
    }),
    z.object({ operation: operation('llen'), key }),
    z.object({ operation: operation('sadd'), key, value: values, encoding }),
    z.object({ operation: operation('smembers'), key, encoding }),
    z.object({ operation: operation('srem'), key, value: values, encoding }),
    z.object({ operation: operation('sismember'), key, value, encoding }),
    z.object({ operation: operation('publish'), channel: word.meta({ title: 'Channel' }), value, encoding }),
    z.object({
      operation: operation('xadd'),
      key,
      value: z
        .record(z.string(), stored)
        .refine((entry) => Object.keys(entry).length > 0, 'must have at least one field')
        .meta({ title: 'Entry', description: 'An object: its fields are the fields of the entry' }),
      encoding,
    }),
    z.object({
      operation: operation('xread'),
      key,
      streamId: streamID.default('0').meta({ title: 'After' }),
      count: count.default(10),
      encoding,
    }),
    z.object({
      operation: operation('xrange'),
      key,
      start: streamID.default('-').meta({ title: 'From' }),
      stop: streamID.default('+').meta({ title: 'To' }),
      count: count.optional(),
      encoding,
    }),
    z.object({ operation: operation('xlen'), key }),
  ]),
  templates: {},
  writes(query) {
    const { operation } = query;
    return reading.has(operation)
      ? null
      : `${operation} ${'key' in query ? query.key : 'channel' in query ? query.channel : ''}`;
  },
  defaults: {
    options: {
      connectionOption: 'connectionDetails',
      connectionDetails: { host: 'localhost', port: 6379, password: '', database: 0, tls: false },
    },
    query: { operation: 'get', key: 'greeting' },
  },
});

const reading: ReadonlySet<string> = new Set([
  ...['get', 'exists', 'keys', 'ttl', 'hget', 'hgetall', 'lrange', 'llen'],
  ...['smembers', 'sismember', 'xread', 'xrange', 'xlen'],
]);
