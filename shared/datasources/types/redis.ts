import { z } from 'zod';
import { Json, JsonObject } from '../../core/json.ts';
import { recordOf } from '../../core/record.ts';
import { secret } from '../../core/schema/secret.ts';
import {
  connectionName,
  connectionOption,
  connectionURL,
  detailsWords,
  host,
  port,
  tls,
} from '../fields/connection.ts';
import { encoding } from '../fields/payload.ts';
import { certificateFields } from '../fields/tls.ts';
import { defineDatasource } from './define-datasource.ts';

/** A name, or a number to be used as a name. */
const word = z.union([z.string().max(65_536), z.number()]);
const key = word.meta({ title: 'Key', description: 'Name of the key, such as user:{{inputs.id}}' });
const keys = z
  .union([word, z.array(word).min(1).max(1_000)])
  .meta({ title: 'Key', description: 'Name of a key, or a list of names' });
const field = word.meta({ title: 'Field', description: 'Name of the field in the hash' });
const fields = z
  .union([word, z.array(word).min(1).max(1_000)])
  .meta({ title: 'Field', description: 'Name of a field in the hash, or a list of names' });
const stored = z.union([z.string(), z.number(), z.boolean(), JsonObject]);
const value = z
  .union([stored, z.array(Json)])
  .meta({ title: 'Value', description: 'A text, or a template. Other values than text are stored as JSON' });
const values = z
  .union([
    stored,
    z
      .array(z.union([stored, z.array(Json)]))
      .min(1)
      .max(10_000),
  ])
  .meta({ title: 'Value', description: 'A value, or a list of several. Other values than text are stored as JSON' });
const ttl = z.int().min(1).meta({ title: 'Lifetime (s)', description: 'Seconds until the server deletes the key' });
const lifetime = ttl.optional().meta({ description: 'Seconds until the server deletes the key. Empty: it stays' });
const count = z.int().min(1).max(100_000).meta({
  title: 'Entries at most',
  description: 'Reading ends after so many, or after "Rows at most" if that is less',
});

const operation = <Name extends string>(name: Name) =>
  z
    .literal(name)
    .meta({ title: 'Operation', description: 'Command of Redis, in lower case: get, hset, lrange, publish, xadd …' });

/** Redis, Valkey and servers with their protocol; one server, not a cluster. */
export const redis = defineDatasource({
  type: 'redis',
  label: 'Redis',
  category: 'database',
  options: z.discriminatedUnion('connectionOption', [
    z.object({
      connectionOption: connectionOption('connectionDetails'),
      connectionDetails: z
        .object({
          connectionName,
          host,
          port: port(6379),
          username: z.string().max(255).default('').meta({
            title: 'User',
            description: 'Name to sign in with. Empty: with the password alone, or without signing in',
          }),
          password: secret(z.string()).default('').meta({
            title: 'Password',
            description: 'Of the user, or of the server if it has no users. It is stored encrypted',
          }),
          database: z
            .int()
            .min(0)
            .max(15)
            .default(0)
            .meta({ title: 'Database', description: 'Number of the database, from 0 to 15' }),
          tls,
          ...certificateFields,
        })
        .meta(detailsWords),
    }),
    z.object({
      connectionOption: connectionOption('connectionUrl'),
      connectionUrl: connectionURL(
        z.string().min(1).max(2_048),
        'Such as redis://user:password@host:6379/0; rediss:// with TLS. Special characters are percent-encoded. It is stored encrypted',
      ),
      ...certificateFields,
    }),
  ]),
  query: z.discriminatedUnion('operation', [
    z.object({ operation: operation('get'), key, encoding }),
    z.object({ operation: operation('set'), key, value, ttl: lifetime, encoding }),
    z.object({ operation: operation('del'), key: keys }),
    z.object({ operation: operation('exists'), key: keys }),
    z.object({
      operation: operation('keys'),
      pattern: z.string().default('*').meta({
        title: 'Pattern',
        description: 'Names of keys, such as user:*; * stands for any text, ? for one character',
      }),
    }),
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
      start: z
        .int()
        .default(0)
        .meta({ title: 'From', description: 'Index of the first element; 0 is the first, -1 the last' }),
      stop: z
        .int()
        .default(-1)
        .meta({ title: 'To', description: 'Index of the last element; 0 is the first, -1 the last' }),
      encoding,
    }),
    z.object({ operation: operation('llen'), key }),
    z.object({ operation: operation('sadd'), key, value: values, encoding }),
    z.object({ operation: operation('smembers'), key, encoding }),
    z.object({ operation: operation('srem'), key, value: values, encoding }),
    z.object({ operation: operation('sismember'), key, value, encoding }),
    z.object({
      operation: operation('publish'),
      channel: word.meta({ title: 'Channel', description: 'Name of the channel; its subscribers get the value' }),
      value,
      encoding,
    }),
    z.object({
      operation: operation('xadd'),
      key,
      value: recordOf(stored)
        .refine((entry) => Object.keys(entry).length > 0, 'must have at least one field')
        .meta({ title: 'Entry', description: 'The fields of the entry, such as {"order": "{{inputs.id}}"}' }),
      encoding,
    }),
    z.object({
      operation: operation('xread'),
      key,
      streamId: word
        .default('0')
        .meta({ title: 'After', description: 'Id of an entry; those behind it are read. 0: from the beginning' }),
      count: count.default(10),
      encoding,
    }),
    z.object({
      operation: operation('xrange'),
      key,
      start: word
        .default('-')
        .meta({ title: 'From', description: 'Id of the first entry that is read. -: the oldest' }),
      stop: word.default('+').meta({ title: 'To', description: 'Id of the last entry that is read. +: the newest' }),
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
