import { randomBytes } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import type { Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { inspect } from 'node:util';
import { type ChannelModel, connect } from 'amqplib';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { freePort } from '#ops/embedded/ports.ts';
import type { Json, JsonObject } from '#shared/core/json.ts';
import { rabbitmq } from '#shared/datasources/types/rabbitmq.ts';
import { certificates } from '#test/support/certificates.ts';
import { type OpenedDatasource, openDatasource } from '#test/support/connector.ts';
import { reservedBy } from '#test/support/reserved-bytes.ts';
import { startTCP } from '#test/support/tcp.ts';
import { createOutbound } from '#workers/outbound/gate.ts';
import { type EmbeddedRabbitMQ, findRabbitMQ, startRabbitMQ } from '../../../servers/rabbitmq.ts';

const found = await findRabbitMQ();
if (found.path === null) process.stderr.write(`The tests of rabbitmq are skipped: ${found.reason}\n`);

describe.skipIf(found.path === null)('rabbitmq', () => {
  let dir: string;
  let server: EmbeddedRabbitMQ;
  let datasource: OpenedDatasource;

  beforeAll(async () => {
    dir = await mkdtemp(join(tmpdir(), 'gantry-rabbitmq-'));
    server = await startRabbitMQ({
      dir,
      user: 'u',
      password: 'right-secret',
      certificates: { certificate: certificates.server, key: certificates.serverKey },
    });
    datasource = await openDatasource(rabbitmq, details());
  });
  afterAll(async () => {
    await datasource[Symbol.asyncDispose]();
    await server[Symbol.asyncDispose]();
    await rm(dir, { recursive: true, force: true });
  });
  beforeEach(async () => {
    await run({ operation: 'declareQueue', queue: 'q' });
    await run({ operation: 'purge', queue: 'q' });
  });

  const details = (changes: object = {}) => ({
    connectionOption: 'connectionDetails',
    connectionDetails: { host: 'localhost', port: server.port, username: 'u', password: 'right-secret', ...changes },
  });
  const run = async (...args: Parameters<OpenedDatasource['execute']>) => datasource.execute(...args);
  const info = async () => (await run({ operation: 'getQueueInfo', queue: 'q' })).data;
  const publish = (message: Json, more: JsonObject = {}) => run({ operation: 'publish', queue: 'q', message, ...more });
  const take = async (more: JsonObject = {}) => {
    const { data } = await run({ operation: 'consume', queue: 'q', messageCount: 1_000, ...more });
    return data as { message: string; properties: JsonObject; fields: JsonObject }[];
  };
  /** Another client, for inspection. */
  const withModel = async <T>(work: (model: ChannelModel) => Promise<T>): Promise<T> => {
    const model = await connect({ port: server.port, hostname: '127.0.0.1', username: 'u', password: 'right-secret' });
    try {
      return await work(model);
    } finally {
      await model.close();
    }
  };

  test('messages of every kind arrive unchanged', async () => {
    await datasource.test();
    const values: [JsonObject, string][] = [
      [{ payload: 'Grüße 🦑\r\n\0' }, 'Grüße 🦑\r\n\0'],
      [{ payload: '9007199254740993' }, '9007199254740993'],
      [{ payload: { n: null, big: '123456789012345678901234567890', list: [1.5, true] } }, ''],
      [{ payload: 0 }, '0'],
      [{ payload: '' }, ''],
      [{ payload: 'x'.repeat(1_000_000) }, 'x'.repeat(1_000_000)],
    ];
    for (const [inputs] of values)
      expect(await run({ operation: 'publish', queue: 'q', message: '{{inputs.payload}}' }, inputs)).toMatchObject({
        affectedRows: 1,
      });

    const taken = await take();
    expect(taken.map(({ message }) => message)).toEqual(
      values.map(([{ payload }, text]) => text || (payload === '' ? '' : JSON.stringify(payload))),
    );
    expect(await info()).toEqual({ queue: 'q', messageCount: 0, consumerCount: 0 });
  });

  test('bytes are read as base64; those that are no text stay in the queue when read as text', async () => {
    const message = randomBytes(300_000).toString('base64');
    await publish(message, { encoding: 'base64' });

    await expect(take()).rejects.toMatchObject({ code: 'DB_ERROR', message: expect.stringContaining('base64') });
    expect(await take({ encoding: 'base64' })).toMatchObject([{ message }]);
    await expect(publish('no!', { encoding: 'base64' })).rejects.toMatchObject({ code: 'VALIDATION_ERROR' });
  });

  test('properties are sent, and templates in headers are text only', async () => {
    const messageOptions = {
      contentType: 'application/json',
      correlationId: '{{inputs.v}}',
      expiration: 60_000,
      headers: { text: '{{inputs.v}}', whole: 9007199254740991, part: -1.5, yes: true, none: null, list: [1, 'two'] },
    };
    const v = 'x\r\ny\0z';
    const query = { operation: 'publish', queue: 'q', message: '{}', messageOptions };
    await run(query, { v }, { idempotencyKey: 'a.b.1' });
    await run(query, { v }, { idempotencyKey: 'a.b.1' });

    const [first, second] = await take();
    expect(first).toMatchObject({
      properties: {
        contentType: 'application/json',
        correlationId: v,
        expiration: '60000',
        deliveryMode: 2,
        headers: { ...messageOptions.headers, text: v },
      },
      fields: { exchange: '', routingKey: 'q', redelivered: false },
    });
    expect(first?.properties.messageId).toBe(second?.properties.messageId);
    for (const headers of [{ a: { '!': 'int8', value: 1 } }, { a: 9007199254740992 }, { ['x'.repeat(256)]: 1 }])
      await expect(publish('m', { messageOptions: { headers } })).rejects.toMatchObject({ code: 'VALIDATION_ERROR' });
  });

  test('header types of other clients can be read', async () => {
    await withModel(async (model) => {
      const channel = await model.createChannel();
      const headers = {
        bytes: Buffer.from([255]),
        at: { '!': 'timestamp', value: 1_000_000_000 },
        price: { '!': 'decimal', value: { places: 2, digits: 5 } },
        deep: { list: [{ a: 1 }] },
      };
      channel.sendToQueue('q', Buffer.from('m'), { headers, timestamp: 5, priority: 1, appId: 'other' });
      await channel.close();
    });

    expect(await take()).toMatchObject([
      {
        properties: {
          timestamp: 5,
          priority: 1,
          appId: 'other',
          headers: { bytes: '/w==', at: '2001-09-09T01:46:40.000Z', price: '0.05', deep: { list: [{ a: 1 }] } },
        },
      },
    ]);
  });

  test('peeking leaves every message in its position', async () => {
    for (const n of [1, 2, 3]) await publish(n);

    const { data, truncated } = await run({ operation: 'peek', queue: 'q', messageCount: 2 });

    expect(data).toMatchObject([{ message: '1' }, { message: '2' }]);
    expect(truncated).toBe(false);
    expect(await info()).toMatchObject({ messageCount: 3 });
    expect((await take()).map(({ message }) => message)).toEqual(['1', '2', '3']);
  });

  test('consuming takes only the returned messages', async () => {
    for (const n of [1, 2, 3]) await publish(n);
    expect(await run({ operation: 'consume', queue: 'q', messageCount: 3 }, {}, { maxRows: 2 })).toMatchObject({
      rowCount: 2,
      truncated: true,
    });
    expect(await take()).toMatchObject([{ message: '3' }]);

    const big = 'y'.repeat(5_000_000);
    for (const n of [1, 2, 3]) await publish(big + n);
    expect(await run({ operation: 'consume', queue: 'q', messageCount: 3 })).toMatchObject({
      rowCount: 2,
      truncated: true,
    });
    expect(await reservedBy(async () => expect(await take()).toHaveLength(1))).toBeGreaterThanOrEqual(5_000_000);

    await publish(big.repeat(3));
    await expect(take()).rejects.toMatchObject({ code: 'PAYLOAD_TOO_LARGE' });
    expect(await info()).toMatchObject({ messageCount: 1 });
    await run({ operation: 'purge', queue: 'q' });
    await publish(big.repeat(8));
    await expect(take()).rejects.toMatchObject({ code: 'PAYLOAD_TOO_LARGE' });
    expect(await run({ operation: 'purge', queue: 'q' })).toMatchObject({ affectedRows: 1 });
  });

  test('a queue can be created, bound, purged and deleted', async () => {
    const queue = 'bound';
    const declare = { operation: 'declareQueue', queue, exchange: 'ex', exchangeType: 'topic', routingKey: 'a.#' };
    expect(await run(declare)).toMatchObject({ data: { queue, messageCount: 0 } });
    await run({ operation: 'publish', exchange: 'ex', routingKey: 'a.b', message: 'm' });

    expect(await run({ operation: 'purge', queue })).toMatchObject({ affectedRows: 1 });
    await run({ operation: 'deleteQueue', queue });
    await expect(run({ operation: 'getQueueInfo', queue })).rejects.toMatchObject({
      code: 'DB_ERROR',
      details: { amqp_code: 404 },
    });
  });

  test('an unroutable message is an error, unless it may be lost', async () => {
    await expect(run({ operation: 'publish', queue: 'nobody' })).rejects.toMatchObject({
      code: 'DB_ERROR',
      message: expect.stringContaining('nobody'),
      details: { issues: [{ path: ['routingKey'] }] },
    });
    const messageOptions = { mandatory: false };
    expect(await run({ operation: 'publish', queue: 'nobody', messageOptions })).toMatchObject({ affectedRows: 1 });
    await expect(run({ operation: 'publish', exchange: 'none', routingKey: 'a' })).rejects.toMatchObject({
      code: 'DB_ERROR',
      details: { amqp_code: 404 },
    });
    await expect(
      run({ operation: 'declareQueue', queue: 'q', queueOptions: { durable: false } }),
    ).rejects.toMatchObject({ details: { amqp_code: 406 } });
    await expect(run({ operation: 'publish', message: 'm' })).rejects.toMatchObject({ code: 'VALIDATION_ERROR' });
    await expect(run({ operation: 'getQueueInfo', queue: 'nobody' })).rejects.toMatchObject({
      message: "NOT_FOUND - no queue 'nobody' in vhost '/'",
    });
    await expect(publish('m', { exchange: 'ex' })).rejects.toMatchObject({
      code: 'VALIDATION_ERROR',
      message: expect.stringContaining('queue'),
    });
  });

  test('a value cannot change a name', async () => {
    for (const v of ['#', '*.#', "'; x", 'a\0b', '🦑']) {
      await run({ operation: 'declareQueue', queue: '{{inputs.v}}' }, { v });
      await run({ operation: 'publish', queue: '{{inputs.v}}', message: v }, { v });
      const { data } = await run({ operation: 'consume', queue: '{{inputs.v}}' }, { v });
      expect(data, JSON.stringify(v)).toMatchObject([{ message: v, fields: { routingKey: v } }]);
      await run({ operation: 'deleteQueue', queue: '{{inputs.v}}' }, { v });
    }
    for (const v of ['', 'a\r\nb', 'x'.repeat(256), '🦑'.repeat(64)])
      await expect(run({ operation: 'consume', queue: '{{inputs.v}}' }, { v })).rejects.toMatchObject({
        code: 'VALIDATION_ERROR',
      });
  });

  test('an abort ends a read, and its messages are in the queue again', async () => {
    await withModel(async (model) => {
      const channel = await model.createConfirmChannel();
      for (let n = 0; n < 1_000; n += 1) channel.sendToQueue('q', Buffer.from(String(n)));
      await channel.waitForConfirms();
    });
    const controller = new AbortController();
    const reading = run({ operation: 'consume', queue: 'q', messageCount: 1_000 }, {}, { signal: controller.signal });
    setTimeout(() => controller.abort(), 30);

    await expect(reading).rejects.toMatchObject({ code: 'UPSTREAM_TIMEOUT', details: { reason: 'timeout' } });

    await expect.poll(async () => info()).toMatchObject({ messageCount: 1_000 });
    expect(await take()).toHaveLength(1_000);
  });

  test('two concurrent readers never get the same message', async () => {
    for (let n = 0; n < 40; n += 1) await publish(n);

    const all = await Promise.all([1, 2, 3, 4].map(() => take({ messageCount: 10 })));

    expect(new Set(all.flat().map(({ message }) => message)).size).toBe(40);
  });

  test('a hundred concurrent messages arrive, also after the server was killed and restarted', async () => {
    await Promise.all(Array.from({ length: 100 }, (_, n) => publish(n)));
    await server.kill9();

    await expect(publish('m')).rejects.toMatchObject({ code: 'UPSTREAM_FAILED' });

    await server.restart();
    expect(await take()).toHaveLength(100);
    expect(await publish('m')).toMatchObject({ affectedRows: 1 });
  });

  test('a wrong password, virtual host, host and certificate have different errors, without the secret', async () => {
    await using silent = await startTCP();
    const tls = { port: server.tlsPort, ssl: true };
    await using right = await openDatasource(
      rabbitmq,
      details({ ...tls, caCertificate: certificates.authority, heartbeat: 0 }),
    );
    await right.test();
    await right.execute({ operation: 'publish', queue: 'q', message: 'z'.repeat(300_000) });
    expect(await right.execute({ operation: 'consume', queue: 'q' })).toMatchObject({ rowCount: 1 });
    const byURL = (url: string) => ({ connectionOption: 'connectionUrl', connectionUrl: url });
    await using url = await openDatasource(rabbitmq, byURL(`amqp://u:right%2Dsecret@localhost:${server.port}/%2F`));
    await url.test();

    const password = 'wrong-secret';
    const wrong: [object, string][] = [
      [details({ password }), 'authentication'],
      [details({ username: 'wrong-secret' }), 'authentication'],
      [byURL(`amqp://u:wrong-secret@localhost:${server.port}`), 'authentication'],
      [details({ vhost: 'none%2F' }), 'not-found'],
      [details({ port: await freePort(), password }), 'unreachable'],
      [details({ host: 'nowhere.invalid', password }), 'unreachable'],
      [details({ port: silent.port, password }), 'timeout'],
      [details({ port: silent.port, password, ssl: true }), 'timeout'],
      [details({ ssl: true, password }), 'tls'],
      [details({ ...tls, password }), 'tls'],
      [details({ ...tls, password, caCertificate: certificates.otherAuthority }), 'tls'],
      [details({ ...tls, password, caCertificate: certificates.authority, host: '127.0.0.1' }), 'tls'],
    ];
    await Promise.all(
      wrong.map(async ([options, reason]) => {
        await using refused = await openDatasource(rabbitmq, options);
        const signal = AbortSignal.timeout(reason === 'timeout' ? 500 : 10_000);
        const error = await refused.test(signal).catch((failure: unknown) => failure);
        expect(error, JSON.stringify(options)).toMatchObject({
          code: reason === 'timeout' ? 'UPSTREAM_TIMEOUT' : 'UPSTREAM_FAILED',
          details: { reason },
        });
        expect(inspect(error, { depth: 9 })).not.toContain('wrong-secret');
      }),
    );
    for (const bad of ['http://h', 'amqp://u:hush@h/a/b', 'amqp://u:hush@h?frameMax=0', 'amqp://u:hush%@h']) {
      const error = await openDatasource(rabbitmq, byURL(bad)).catch((failure: unknown) => failure);
      expect(error).toMatchObject({ code: 'VALIDATION_ERROR', message: expect.stringContaining('connectionUrl') });
      expect(inspect(error)).not.toContain('hush');
    }
  });

  test('an address that is not allowed is not connected to', async () => {
    const outbound = createOutbound({ allow: [] });
    for (const host of ['localhost', '127.0.0.1', '2130706433', '::ffff:127.0.0.1']) {
      await using refused = await openDatasource(rabbitmq, details({ host }), { outbound });
      await expect(refused.test(), host).rejects.toMatchObject({ details: { reason: 'not-allowed' } });
    }
  });
});

describe('a program that answers as RabbitMQ', () => {
  const openAt = (port: number) =>
    openDatasource(rabbitmq, {
      connectionOption: 'connectionDetails',
      connectionDetails: { host: 'localhost', port, password: 'p' },
    });
  const publishing = { operation: 'publish', queue: 'q', message: 'm' };
  const reading = { operation: 'consume', queue: 'q' };

  test('may not be RabbitMQ', async () => {
    for (const says of [
      'HTTP/1.1 400 Bad Request\r\n\r\n',
      randomBytes(5_000),
      frame(1, 0, randomBytes(60)),
      'AMQP\0\0\x09\x01',
      '',
    ]) {
      await using server = await startTCP((socket) => (says === '' ? socket.destroy() : socket.write(says)));
      await using datasource = await openAt(server.port);
      await expect(datasource.execute(publishing, {}, { signal: AbortSignal.timeout(2_000) })).rejects.toMatchObject({
        code: 'UPSTREAM_FAILED',
      });
    }
  });

  test('may fall silent after it accepted the connection', async () => {
    await using server = await startTCP((socket) => letIn(socket, () => []));
    await using datasource = await openAt(server.port);
    for (const query of [publishing, reading])
      await expect(datasource.execute(query, {}, { signal: AbortSignal.timeout(300) })).rejects.toMatchObject({
        code: 'UPSTREAM_TIMEOUT',
        details: { reason: 'timeout' },
      });
  });

  test('may announce a giant frame or a giant message', async () => {
    const giantFrame = Buffer.from([1, 0, 1, 0x7f, 0xff, 0xff, 0xff]);
    await using framed = await startTCP((socket) => letIn(socket, () => [giantFrame]));
    await using first = await openAt(framed.port);
    await expect(first.execute(publishing)).rejects.toMatchObject({ code: 'UPSTREAM_FAILED' });

    await using server = await startTCP((socket) =>
      letIn(socket, (id) => {
        if (id !== methods.get) return answersTo(id);
        setImmediate(() => pour(socket));
        return [method(60, 71, Buffer.from([...Array(8).fill(0), 0, 0, 0, 0, 0, 0, 0])), header(2n ** 40n)];
      }),
    );
    await using datasource = await openAt(server.port);
    const before = process.memoryUsage().rss;
    await expect(datasource.execute(reading)).rejects.toMatchObject({ code: 'PAYLOAD_TOO_LARGE' });
    expect(process.memoryUsage().rss - before).toBeLessThan(250_000_000);
  });

  test('may send any frame at any time', async () => {
    await using server = await startTCP((socket) =>
      letIn(socket, (id) => {
        setTimeout(() => socket.destroy(), 5);
        return [...(Math.random() < 0.7 ? answersTo(id) : []), anyFrame(), anyFrame()];
      }),
    );
    await using datasource = await openAt(server.port);
    for (let round = 0; round < 150; round += 1) {
      const ended = await Promise.allSettled([publishing, reading].map((query) => datasource.execute(query)));
      for (const outcome of ended)
        if (outcome.status === 'rejected')
          expect(outcome.reason.code, inspect(outcome.reason)).toMatch(/^(?:UPSTREAM_FAILED|DB_ERROR)$/);
    }
  });
});

const methods = {
  startOk: '10.11',
  open: '10.40',
  channelOpen: '20.10',
  select: '85.10',
  get: '60.70',
  close: '20.40',
};

/** A server with a valid handshake, and given answers after that. */
function letIn(socket: Socket, answer: (id: string) => Buffer[]): void {
  let rest = Buffer.alloc(0);
  let isGreeted = false;
  const plain = Buffer.from('PLAIN');
  const words = Buffer.from('en_US');
  socket.on('data', (bytes: Buffer) => {
    rest = Buffer.concat([rest, bytes]);
    if (!isGreeted) {
      isGreeted = true;
      rest = rest.subarray(8);
      const start = [Buffer.from([0, 9, 0, 0, 0, 0, 0, 0, 0, 5]), plain, Buffer.from([0, 0, 0, 5]), words];
      socket.write(method(10, 10, Buffer.concat(start), 0));
    }
    while (rest.length >= 7 && rest.length >= rest.readUInt32BE(3) + 8) {
      const size = rest.readUInt32BE(3);
      if (rest[0] === 1) respond(`${rest.readUInt16BE(7)}.${rest.readUInt16BE(9)}`);
      rest = rest.subarray(size + 8);
    }
  });
  function respond(id: string): void {
    if (id === methods.startOk) socket.write(method(10, 30, Buffer.from([7, 255, 0, 2, 0, 0, 0, 0]), 0));
    else if (id === methods.open) socket.write(method(10, 41, Buffer.from([0]), 0));
    else if (id !== '10.31') for (const one of answer(id)) if (socket.writable) socket.write(one);
  }
}

/** Answers like a valid server. */
function answersTo(id: string): Buffer[] {
  if (id === methods.channelOpen) return [method(20, 11, Buffer.alloc(4))];
  if (id === methods.select) return [method(85, 11, Buffer.alloc(0))];
  if (id === methods.get) return [method(60, 72, Buffer.from([0]))];
  return id === methods.close ? [method(20, 41, Buffer.alloc(0))] : [];
}

function anyFrame(): Buffer {
  const kinds = [
    [60, 71],
    [60, 72],
    [60, 50],
    [60, 60],
    [60, 80],
    [60, 120],
    [20, 40],
    [20, 20],
    [10, 50],
    [10, 60],
    [50, 11],
    [85, 11],
  ];
  const [kind = 0, length = 0, channel = 0] = randomBytes(3);
  const [of = 0, id = 0] = kinds[kind % kinds.length] ?? [];
  const body = randomBytes(length % 50);
  if (kind % 5 === 0) return frame(kind % 10, channel % 3, body);
  if (kind % 7 === 0) return header(BigInt(length % 4));
  return method(of, id, body, channel % 2);
}

function frame(type: number, channel: number, payload: Buffer): Buffer {
  const head = Buffer.alloc(7);
  head.writeUInt8(type, 0);
  head.writeUInt16BE(channel, 1);
  head.writeUInt32BE(payload.length, 3);
  return Buffer.concat([head, payload, Buffer.from([0xce])]);
}

function method(of: number, id: number, fields: Buffer, channel = 1): Buffer {
  return frame(1, channel, Buffer.concat([Buffer.from([0, of, 0, id]), fields]));
}

function header(size: bigint): Buffer {
  const payload = Buffer.alloc(14);
  payload.writeUInt16BE(60, 0);
  payload.writeBigUInt64BE(size, 4);
  return frame(2, 1, payload);
}

/** A message body that never ends. */
function pour(socket: Socket): void {
  const chunk = frame(3, 1, Buffer.alloc(100_000));
  const more = () => {
    while (socket.writable && socket.write(chunk));
  };
  socket.on('drain', more);
  more();
}
