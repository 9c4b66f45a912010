import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { jetstream, jetstreamManager } from '@nats-io/jetstream';
import { connect as connectNats } from '@nats-io/transport-node';
import { Redis } from 'ioredis';
import { expect, test } from 'vitest';
import { createPool } from '#shared/db/pool.ts';
import { testLogger } from '#test/support/environment.ts';
import { startOwnPostgres } from '#test/support/own-postgres.ts';
import { receiveEvents } from '#test/support/received-events.ts';
import { eventually } from '#test/support/settle.ts';
import { startNats } from '../../../servers/nats.ts';
import { startRedis } from '../../../servers/redis.ts';

test('an entry of a Redis stream is acknowledged when it is stored and not before', async () => {
  await using resources = new AsyncDisposableStack();
  const dir = resources.adopt(await mkdtemp(join(tmpdir(), 'gantry-redis-')), (path) =>
    rm(path, { recursive: true, force: true }),
  );
  const server = resources.use(await startRedis({ dir }));
  const client = resources.adopt(new Redis(server.url), (one) => one.disconnect());
  const pending = async () => ((await client.xpending('orders', 'gantry')) as [number])[0];
  const settings = {
    options: { connectionOption: 'connectionUrl', connectionUrl: server.url },
    config: { subscriptionType: 'stream', stream: 'orders' },
  };
  await using received = await receiveEvents('redis', { ...settings, isStored: false });
  await received.ready;
  // Where the group begins is known before its first entry: the server may lose both.
  expect(received.cursor).toEqual({ after: '0-0' });
  const id = await client.xadd('orders', '*', 'text', 'a');
  await eventually(() => expect(received.events).toHaveLength(1));
  expect([await pending(), received.cursor]).toEqual([1, { after: '0-0' }]);

  received.store();
  await eventually(async () => expect(await pending()).toBe(0));
  expect(received.cursor).toEqual({ after: id });
});

test('a slot of PostgreSQL moves when its changes are stored and not before', async () => {
  await using own = await startOwnPostgres({ replicates: true });
  const { url } = own.postgres;
  await using resources = new AsyncDisposableStack();
  const pool = resources.adopt(createPool({ url, poolSize: 1 }, testLogger), (one) => one.end());
  await pool.query('create table orders (id bigserial primary key, note text)');
  const flushedTo = async () =>
    (await pool.query<{ at: string }>('select confirmed_flush_lsn as at from pg_replication_slots')).rows[0]?.at;
  const options = { connectionOption: 'connectionString', connectionString: url };
  await using received = await receiveEvents('postgresql', {
    ...{ options, config: { source: 'changes', tables: 'public.orders' }, isStored: false },
  });
  await received.ready;
  const before = await flushedTo();
  await pool.query(`insert into orders (note) values ('a'), ('b')`);
  await eventually(() => expect(received.events).toHaveLength(2));
  expect(await flushedTo()).toBe(before);

  received.store();
  await eventually(async () => expect(await flushedTo()).not.toBe(before));
  expect(received.events).toHaveLength(2);
  await received[Symbol.asyncDispose]();
  await received.remove();
  expect(await flushedTo()).toBeUndefined();
});

test('a message of a stream of NATS is acknowledged when it is stored and not before; one that is refused ends the connection', async () => {
  await using resources = new AsyncDisposableStack();
  const dir = resources.adopt(await mkdtemp(join(tmpdir(), 'gantry-nats-')), (path) =>
    rm(path, { recursive: true, force: true }),
  );
  const config = `jetstream { store_dir: "${join(dir, 'jetstream')}" }`;
  const server = resources.use(await startNats({ dir, config }));
  const servers = `127.0.0.1:${server.port}`;
  const client = resources.adopt(await connectNats({ servers }), (one) => one.close());
  const manager = await jetstreamManager(client);
  await manager.streams.add({ name: 'ORDERS', subjects: ['orders.>'] });
  const settings = { options: { servers }, config: { stream: 'ORDERS' } };
  await using first = await receiveEvents('nats', { ...settings, isStored: false });
  const { listenerID } = first;
  await first.ready;
  const pending = async () => (await manager.consumers.info('ORDERS', `gantry-${listenerID}`)).num_ack_pending;
  await jetstream(client).publish('orders.new', 'a');
  await eventually(() => expect(first.events).toHaveLength(1));
  expect(await pending()).toBe(1);

  // While further messages are waited for. An error that is handled later would end the process.
  const unhandled: unknown[] = [];
  const note = (error: unknown) => unhandled.push(error);
  process.on('unhandledRejection', note);
  resources.defer(() => void process.off('unhandledRejection', note));
  first.refuse();
  expect(await first.over).toMatchObject({ message: 'refused' });
  expect([unhandled, await pending()]).toEqual([[], 1]);

  await using again = await receiveEvents('nats', { ...settings, listenerID });
  await eventually(async () => expect(await pending()).toBe(0));
  expect(again.events.map(({ body }) => body.toString())).toEqual(['a']);
});
