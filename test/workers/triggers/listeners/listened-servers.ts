import { createSocket } from 'node:dgram';
import { EventEmitter, on, once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { createServer, type ServerResponse } from 'node:http';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { jetstream, jetstreamManager } from '@nats-io/jetstream';
import { connect as connectNats, type NatsConnection } from '@nats-io/transport-node';
import { connect as connectRabbit } from 'amqplib';
import { buildSchema } from 'graphql';
import { useServer } from 'graphql-ws/use/ws';
import { ImapFlow } from 'imapflow';
import { Redis } from 'ioredis';
import { WebSocketServer } from 'ws';
import { freePort } from '#ops/embedded/ports.ts';
import type { JsonObject } from '#shared/core/json.ts';
import { mqtt as mqttDatasource } from '#shared/datasources/types/mqtt.ts';
import { createPool } from '#shared/db/pool.ts';
import { startDovecot } from '../../../servers/dovecot.ts';
import { startMosquitto } from '../../../servers/mosquitto.ts';
import { startNats } from '../../../servers/nats.ts';
import { startRabbitMQ } from '../../../servers/rabbitmq.ts';
import { startRedis } from '../../../servers/redis.ts';
import { openDatasource } from '../../../support/connector.ts';
import { testLogger } from '../../../support/environment.ts';
import { startOwnPostgres } from '../../../support/own-postgres.ts';

/** A listener type with a server, for tests that are the same for all types. */
export interface Listened {
  /** Name of the case, in messages of tests. */
  name: string;
  type: string;
  options: JsonObject;
  config: JsonObject;
  /** Whether the server keeps events until they are acknowledged, also while no listener is connected. */
  keeps: boolean;
  /** Whether an event that the server sends again is known by a key. */
  isKeyed?: boolean;
  /** Resolves when the server has accepted it. */
  send(text: string): Promise<void>;
}

export interface ListenedServers extends AsyncDisposable {
  listened: readonly Listened[];
  /** Kills every server and starts it again. */
  restart(): Promise<void>;
  /** Remote resources of listeners at their servers, other than consumer groups of streams. */
  remoteResources(): Promise<string[]>;
  /** Settings of the workers of a tenant that listens. */
  settingsFor(tenantID: string): Record<string, string>;
  /** Sends to another channel than that of the case. */
  notify(channel: string, text: string): Promise<void>;
}

interface Started extends AsyncDisposable {
  listened: Listened[];
  restart(): Promise<void>;
  remoteResources?(): Promise<string[]>;
  settingsFor?(tenantID: string): Record<string, string>;
}

/** Real servers of all listener types, which start in parallel. */
export async function startListenedServers(): Promise<ListenedServers> {
  await using resources = new AsyncDisposableStack();
  const dir = resources.adopt(await mkdtemp(join(tmpdir(), 'gantry-listened-')), (path) =>
    rm(path, { recursive: true, force: true }),
  );
  const started = await Promise.all([
    startForPostgres(),
    startForRedis(dir),
    startForMqtt(dir),
    startForRabbit(dir),
    startForNats(dir),
    startForWebsocket(),
    startForEvents(),
    startForSubscriptions(),
    startForMail(dir),
    startForSyslog(),
  ]);
  const [{ notify }] = started;
  for (const one of started) resources.use(one);
  const owned = resources.move();
  return {
    listened: started.flatMap(({ listened }) => listened),
    async restart() {
      await Promise.all(started.map((one) => one.restart()));
    },
    remoteResources: async () =>
      (await Promise.all(started.map(async (one: Started) => (await one.remoteResources?.()) ?? []))).flat(),
    settingsFor: (tenantID) => Object.assign({}, ...started.map((one: Started) => one.settingsFor?.(tenantID))),
    notify,
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}

async function startForPostgres(): Promise<Started & Pick<ListenedServers, 'notify'>> {
  const own = await startOwnPostgres({ replicates: true });
  const { url } = own.postgres;
  const pool = createPool({ url, poolSize: 2 }, testLogger);
  await pool.query('create table orders (id bigserial primary key, note text)');
  const options = { connectionOption: 'connectionString', connectionString: url };
  const notify = async (channel: string, text: string) =>
    void (await pool.query('select pg_notify($1, $2)', [channel, text]));
  return {
    listened: [
      {
        name: 'notifications of postgresql',
        type: 'postgresql',
        options,
        config: { channels: 'orders' },
        keeps: false,
        send: (text) => notify('orders', text),
      },
      {
        name: 'changes of postgresql',
        type: 'postgresql',
        options,
        config: { source: 'changes', tables: 'public.orders' },
        keeps: true,
        isKeyed: true,
        send: async (text) => void (await pool.query('insert into orders (note) values ($1)', [text])),
      },
    ],
    async restart() {
      await own.postgres.kill9();
      await own.postgres.restart();
    },
    notify,
    async remoteResources() {
      const { rows } = await pool.query<{ name: string }>(
        'select slot_name as name from pg_replication_slots union all select pubname from pg_publication',
      );
      return rows.map(({ name }) => name);
    },
    async [Symbol.asyncDispose]() {
      await pool.end();
      await own[Symbol.asyncDispose]();
    },
  };
}

async function startForRedis(dir: string): Promise<Started> {
  const server = await startRedis({ dir });
  const client = new Redis({ port: server.port, maxRetriesPerRequest: null, retryStrategy: () => 20 });
  client.on('error', () => undefined);
  const options = { connectionOption: 'connectionUrl', connectionUrl: server.url };
  return {
    listened: [
      {
        name: 'channels of redis',
        type: 'redis',
        options,
        config: { channels: 'plain, events.*', orderBy: '{{event.channel}}' },
        keeps: false,
        send: async (text) => void (await client.publish('events.new', text)),
      },
      {
        name: 'a stream of redis',
        type: 'redis',
        options,
        config: { subscriptionType: 'stream', stream: 'orders', consumerGroup: 'gantry' },
        keeps: true,
        isKeyed: true,
        send: async (text) => void (await client.xadd('orders', '*', 'text', text)),
      },
    ],
    async restart() {
      await server.kill9();
      await server.restart();
    },
    async [Symbol.asyncDispose]() {
      client.disconnect();
      await server[Symbol.asyncDispose]();
    },
  };
}

async function startForMqtt(dir: string): Promise<Started> {
  // Messages that it keeps for a session must outlive `kill -9`, and be as much as a test sends meanwhile.
  const persistence = `persistence true\npersistence_location ${dir}/\nautosave_on_changes true\nautosave_interval 1`;
  const server = await startMosquitto({ dir, config: `allow_anonymous true\nmax_queued_messages 0\n${persistence}` });
  const options = { brokerUrl: `mqtt://127.0.0.1:${server.port}` };
  const publisher = await openDatasource(mqttDatasource, options);
  const send = (topic: string, qos: number) => async (message: string) =>
    void (await publisher.execute({ operation: 'publish', topic, message, qos }));
  return {
    listened: [
      {
        name: 'topics of mqtt',
        type: 'mqtt',
        options,
        config: { topics: 'loose/+/x', qos: 0 },
        keeps: false,
        send: send('loose/a/x', 0),
      },
      {
        name: 'topics of mqtt with acknowledgement',
        type: 'mqtt',
        options: { ...options, protocolVersion: '5' },
        config: { topics: 'firm/#', qos: 1 },
        keeps: true,
        send: send('firm/a/b', 1),
      },
      {
        name: 'topics of mqtt, exactly once',
        type: 'mqtt',
        options,
        config: { topics: 'once/#', qos: 2 },
        keeps: true,
        send: send('once/a', 2),
      },
    ],
    async restart() {
      await server.kill9();
      await server.restart();
    },
    async [Symbol.asyncDispose]() {
      await publisher[Symbol.asyncDispose]();
      await server[Symbol.asyncDispose]();
    },
  };
}

async function startForRabbit(dir: string): Promise<Started> {
  const credentials = { user: 'u', password: 'p' };
  const server = await startRabbitMQ({ dir: join(dir, 'rabbitmq'), ...credentials });
  const url = `amqp://u:p@127.0.0.1:${server.port}`;
  const open = async () => {
    const connection = await connectRabbit(url);
    connection.on('error', () => undefined);
    const channel = await connection.createConfirmChannel();
    channel.on('error', () => undefined);
    // The return of a message comes before its confirmation.
    channel.on('return', ({ properties }) => unrouted.add(String(properties.messageId)));
    return { connection, channel };
  };
  const unrouted = new Set<string>();
  let own = await open();
  return {
    listened: [
      {
        name: 'an exchange of rabbitmq',
        type: 'rabbitmq',
        options: { connectionOption: 'connectionUrl', connectionUrl: url },
        config: { exchange: 'orders', routingKey: 'order.*', prefetch: 50 },
        keeps: true,
        isKeyed: true,
        async send(text) {
          const { promise, resolve, reject } = Promise.withResolvers<void>();
          // A broker that was killed may have forgotten the binding, and confirms what it then drops.
          const properties = { messageId: text, persistent: true, mandatory: true };
          own.channel.publish('orders', 'order.new', Buffer.from(text), properties, (error) =>
            error ? reject(error) : resolve(),
          );
          await promise;
          if (unrouted.delete(text)) throw new Error('No queue has taken the message');
        },
      },
    ],
    async restart() {
      await server.kill9();
      await server.restart();
      own = await open();
    },
    async [Symbol.asyncDispose]() {
      await own.connection.close().catch(() => undefined);
      await server[Symbol.asyncDispose]();
    },
  };
}

async function startForNats(dir: string): Promise<Started> {
  const server = await startNats({ dir, config: `jetstream { store_dir: "${join(dir, 'jetstream')}" }` });
  const connection: NatsConnection = await connectNats({
    servers: `127.0.0.1:${server.port}`,
    maxReconnectAttempts: -1,
    reconnectTimeWait: 50,
  });
  const manager = await jetstreamManager(connection);
  await manager.streams.add({ name: 'ORDERS', subjects: ['orders.>'] });
  const options = { servers: `127.0.0.1:${server.port}` };
  return {
    listened: [
      {
        name: 'subjects of nats',
        type: 'nats',
        options,
        config: { subjects: 'loose.*', queueGroup: 'gantry' },
        keeps: false,
        async send(text) {
          connection.publish('loose.a', text);
          await connection.flush();
        },
      },
      {
        name: 'a stream of nats',
        type: 'nats',
        options,
        config: { stream: 'ORDERS', subjects: 'orders.new' },
        keeps: true,
        isKeyed: true,
        send: async (text) => void (await jetstream(connection).publish('orders.new', text)),
      },
    ],
    async restart() {
      await server.kill9();
      await server.restart();
    },
    async remoteResources() {
      const names: string[] = [];
      for await (const { name } of manager.consumers.list('ORDERS')) names.push(name);
      return names;
    },
    async [Symbol.asyncDispose]() {
      await connection.close();
      await server[Symbol.asyncDispose]();
    },
  };
}

/** A server whose clients get what is sent to it. */
async function startForWebsocket(): Promise<Started> {
  const port = await freePort();
  const listen = () => {
    const server = new WebSocketServer({ host: '127.0.0.1', port });
    server.on('connection', (socket) => socket.on('message', (text) => socket.send(`hello ${text}`)));
    return server;
  };
  let server = listen();
  const close = async () => {
    const { promise, resolve } = Promise.withResolvers<void>();
    for (const client of server.clients) client.terminate();
    server.close(() => resolve());
    await promise;
  };
  return {
    listened: [
      {
        name: 'a websocket',
        type: 'websocket',
        options: { url: `ws://127.0.0.1:${port}` },
        config: { message: { subscribe: 'orders' } },
        keeps: false,
        async send(text) {
          for (const client of server.clients) client.send(text);
        },
      },
    ],
    async restart() {
      await close();
      server = listen();
    },
    [Symbol.asyncDispose]: close,
  };
}

/** A server that sends all events after the one that a client has got last. */
async function startForEvents(): Promise<Started> {
  const events: string[] = [];
  const clients = new Set<ServerResponse>();
  const write = (client: ServerResponse, n: number) =>
    client.write(`id: ${n}\nevent: order\ndata: ${events[n]}\n\nevent: other\ndata: text other\n\n`);
  const port = await freePort();
  const listen = async () => {
    const server = createServer((request, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' }).flushHeaders();
      const last = Number(request.headers['last-event-id'] ?? events.length - 1);
      for (let n = last + 1; n < events.length; n += 1) write(response, n);
      clients.add(response);
      response.on('close', () => clients.delete(response));
    });
    server.listen(port, '127.0.0.1');
    await once(server, 'listening');
    return server;
  };
  let server = await listen();
  const close = async () => {
    server.closeAllConnections();
    server.close();
    await once(server, 'close');
  };
  return {
    listened: [
      {
        name: 'server-sent events',
        type: 'sse',
        options: { url: `http://127.0.0.1:${port}/events` },
        config: { eventTypes: 'order' },
        keeps: true,
        isKeyed: true,
        async send(text) {
          events.push(text);
          for (const client of clients) write(client, events.length - 1);
        },
      },
    ],
    async restart() {
      await close();
      server = await listen();
    },
    [Symbol.asyncDispose]: close,
  };
}

async function startForSubscriptions(): Promise<Started> {
  const sent = new EventEmitter();
  const schema = buildSchema('type Query { a: Int } type Subscription { orders(kind: String): String }');
  const port = await freePort();
  const roots = {
    subscription: {
      async *orders({ kind }: { kind: string }) {
        for await (const [text] of on(sent, 'order')) yield { orders: `${text} ${kind}` };
      },
    },
  };
  const listen = () => {
    const sockets = new WebSocketServer({ host: '127.0.0.1', port, path: '/graphql' });
    useServer(
      { schema, roots, onConnect: ({ connectionParams }) => connectionParams?.authorization === 'Bearer t' },
      sockets,
    );
    return sockets;
  };
  let server = listen();
  const close = async () => {
    const { promise, resolve } = Promise.withResolvers<void>();
    for (const client of server.clients) client.terminate();
    server.close(() => resolve());
    await promise;
  };
  return {
    listened: [
      {
        name: 'a subscription of graphql',
        type: 'graphql',
        options: { endpoint: `http://127.0.0.1:${port}/graphql`, authType: 'bearer', bearerToken: 't' },
        config: { subscription: 'subscription ($k: String) { orders(kind: $k) }', variables: '{"k": "new"}' },
        keeps: false,
        send: async (text) => void sent.emit('order', text),
      },
    ],
    async restart() {
      await close();
      server = listen();
    },
    [Symbol.asyncDispose]: close,
  };
}

async function startForMail(dir: string): Promise<Started> {
  const account = { user: 'u', password: 'p' };
  const server = await startDovecot({ dir: join(dir, 'dovecot'), password: account.password });
  const open = async () => {
    const client = new ImapFlow({
      ...{ host: '127.0.0.1', port: server.port, secure: false, logger: false },
      auth: { user: account.user, pass: account.password },
    });
    client.on('error', () => undefined);
    await client.connect();
    return client;
  };
  let own = await open();
  return {
    listened: [
      {
        name: 'a mailbox',
        type: 'imap',
        options: { host: '127.0.0.1', port: server.port, security: 'none', ...account },
        config: { mailbox: 'INBOX' },
        keeps: true,
        isKeyed: true,
        send: async (text) => void (await own.append('INBOX', `Subject: A message\r\n\r\n${text}\r\n`)),
      },
    ],
    async restart() {
      await server.kill9();
      await server.restart();
      own = await open();
    },
    async [Symbol.asyncDispose]() {
      own.close();
      await server[Symbol.asyncDispose]();
    },
  };
}

/** Two ports that workers bind; there is no server. */
async function startForSyslog(): Promise<Started> {
  const [udp, tcp] = [await freePort(), await freePort()];
  const socket = createSocket('udp4');
  const config = { severityFilter: 'error', facilityFilter: 'auth', hostnameFilter: 'host' };
  return {
    listened: [
      {
        name: 'syslog by UDP',
        type: 'syslog',
        options: { protocol: 'udp', port: udp, allowedSources: '127.0.0.0/8' },
        config,
        keeps: false,
        async send(text) {
          for (const message of ['<39>1 - host app - - - debug', `<35>1 - host app - - - ${text}`])
            await new Promise((resolve) => socket.send(message, udp, '127.0.0.1', resolve));
        },
      },
      {
        name: 'syslog by TCP',
        type: 'syslog',
        options: { protocol: 'tcp', port: tcp },
        config,
        keeps: false,
        async send(text) {
          const stream = connect(tcp, '127.0.0.1');
          // The port has no owner for a moment.
          stream.on('error', () => undefined);
          stream.end(`<43>1 - host app - - - other facility\n<35>1 - host app - - - ${text}\n`);
          await once(stream, 'close').catch(() => undefined);
        },
      },
    ],
    restart: async () => undefined,
    settingsFor: (tenantID) => ({ SYSLOG_PORTS: `${udp}=${tenantID},${tcp}=${tenantID}` }),
    async [Symbol.asyncDispose]() {
      socket.close();
    },
  };
}
