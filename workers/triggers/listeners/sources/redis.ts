import type { Redis } from 'ioredis';
import type { Json } from '#shared/core/json.ts';
import type { redis as redisDatasource } from '#shared/datasources/types/redis.ts';
import { namesIn } from '#shared/triggers/listeners/names-in.ts';
import type { redis } from '#shared/triggers/listeners/types/redis.ts';
import { type Call, callOn, clientOn, endpointOf, signIn } from '../../../datasources/connectors/redis/client.ts';
import { listed, type Reply } from '../../../datasources/connectors/redis/replies.ts';
import { openStream } from '../../../outbound/tls.ts';
import { unlessAborted } from '../../../outbound/unless-aborted.ts';
import { formatAddress, upstreamError } from '../../../outbound/upstream-error.ts';
import { answered, connecting, untilFailed, untilSilent } from './alive.ts';
import type { SourceContext, SourceOf } from './source.ts';

type RedisSource = SourceOf<typeof redisDatasource, typeof redis>;
type Context = Parameters<RedisSource['receive']>[0];

export const redisSource: RedisSource = {
  async receive(context) {
    const endpoint = endpointOf(context.options);
    const where = formatAddress(endpoint.host, endpoint.port);
    const socket = await openStream(endpoint, context.services.outbound, connecting(context.signal));
    const client = clientOn(socket);
    try {
      await answered(where, context.signal, client.connect());
      await answered(where, context.signal, signIn(client, endpoint, where));
      const lost = untilClosed(client, where);
      const work =
        context.config.subscriptionType === 'pubsub'
          ? subscribe(client, socket, context, where)
          : readStream(callOn(client, where), context, where);
      await unlessAborted(context.signal, Promise.race([work, lost]));
    } finally {
      client.disconnect();
      socket.destroy();
    }
  },
};

function untilClosed(client: Redis, where: string): Promise<never> {
  const { failed, fail } = untilFailed();
  client.once('close', () => fail(upstreamError('lost', where)));
  return failed;
}

async function subscribe(
  client: Redis,
  socket: Parameters<SourceContext['recordFrom']>[0],
  context: Context,
  where: string,
): Promise<never> {
  const recordArrival = context.recordFrom(socket);
  client.on('messageBuffer', (channel: Buffer, body: Buffer) =>
    recordArrival({ body, meta: { channel: channel.toString() } }),
  );
  client.on('pmessageBuffer', (pattern: Buffer, channel: Buffer, body: Buffer) =>
    recordArrival({ body, meta: { channel: channel.toString(), pattern: pattern.toString() } }),
  );
  const names = namesIn(context.config.channels);
  const patterns = names.filter((name) => /[*?[]/.test(name));
  const channels = names.filter((name) => !patterns.includes(name));
  if (channels.length > 0) await answered(where, context.signal, client.subscribe(...channels));
  if (patterns.length > 0) await answered(where, context.signal, client.psubscribe(...patterns));
  context.ready();
  return await untilSilent(where, context, { ask: () => client.ping() });
}

/** Time for which the server waits for new entries before it answers with none. */
const BLOCK_MS = 5_000;

/**
 * Reads first the entries that were delivered to this listener and not acknowledged, then new ones. The name of the consumer does not
 * depend on the worker, so entries of a worker that has died are read, too.
 */
async function readStream(call: Call, context: Context, where: string): Promise<never> {
  const { config, signal, listenerID, cursor } = context;
  const { stream, consumerGroup: group, consumerName, batchSize } = config;
  const consumer = consumerName || `gantry-${listenerID}`;
  // A group that is missing although it was read before was lost by the server. It is created behind the last recorded entry, so that no
  // entry is left out.
  const after = typeof cursor?.after === 'string' ? cursor.after : undefined;
  const isNew = await createGroup(call, stream, group, after ?? '$');
  if (isNew && after === undefined) context.keepCursor({ after: await lastOf(call, stream, group) });
  context.ready();
  for (let from = '0'; ; ) {
    await context.untilCapacity();
    const words = [
      'GROUP',
      group,
      consumer,
      'COUNT',
      String(batchSize),
      'BLOCK',
      String(BLOCK_MS),
      'STREAMS',
      stream,
      from,
    ];
    const reply = await answered(where, signal, call('XREADGROUP', ...words), BLOCK_MS * 4);
    const entries = entriesOf(reply);
    if (entries.length === 0) {
      from = '>';
      continue;
    }
    await Promise.all(
      entries.map(({ id, fields }) =>
        context.record({ body: bodyOf(fields), meta: { stream, streamID: id }, key: `${stream} ${id}` }),
      ),
    );
    // Before the acknowledgement, whose answer does not come if the server is killed.
    context.keepCursor({ after: entries.at(-1)?.id ?? '$' });
    await answered(where, signal, call('XACK', stream, group, ...entries.map(({ id }) => id)));
  }
}

/** Creates the consumer group. Returns false if it exists already. */
async function createGroup(call: Call, stream: string, group: string, from: string): Promise<boolean> {
  try {
    await call('XGROUP', 'CREATE', stream, group, from, 'MKSTREAM');
    return true;
  } catch (error) {
    if (!(error instanceof Error) || !error.message.startsWith('BUSYGROUP')) throw error;
    return false;
  }
}

/** Id of the last entry that was delivered to the group. */
async function lastOf(call: Call, stream: string, group: string): Promise<string> {
  for (const fields of listed(await call('XINFO', 'GROUPS', stream)).map(listed)) {
    const field = (name: string) => String(fields[fields.findIndex((one) => String(one) === name) + 1]);
    if (field('name') === group) return field('last-delivered-id');
  }
  return '$';
}

interface Entry {
  id: string;
  /** Empty for one that was deleted from the stream before it was acknowledged. */
  fields: Reply[];
}

function entriesOf(reply: Reply): Entry[] {
  const [, entries] = listed(listed(reply)[0]);
  return listed(entries).map((entry) => {
    const [id, fields] = listed(entry);
    return { id: String(id), fields: listed(fields) };
  });
}

/** The fields as a JSON object. */
function bodyOf(fields: readonly Reply[]): Buffer {
  const pairs: [string, Json][] = [];
  for (let at = 0; at + 1 < fields.length; at += 2) pairs.push([String(fields[at]), fieldOf(fields[at + 1])]);
  return Buffer.from(JSON.stringify(Object.fromEntries(pairs)));
}

function fieldOf(reply: Reply | undefined): Json {
  if (!Buffer.isBuffer(reply)) return String(reply);
  const text = reply.toString('utf8');
  return Buffer.from(text).equals(reply) ? text : { base64: reply.toString('base64') };
}
