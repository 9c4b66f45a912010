import { randomBytes } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import type { Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { inspect } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { freePort } from '#ops/embedded/ports.ts';
import type { JsonObject } from '#shared/core/json.ts';
import { mqtt } from '#shared/datasources/types/mqtt.ts';
import { certificates } from '#test/support/certificates.ts';
import { openDatasource } from '#test/support/connector.ts';
import { reservedBy } from '#test/support/reserved-bytes.ts';
import { startTCP } from '#test/support/tcp.ts';
import { createOutbound } from '#workers/outbound/gate.ts';
import { findMosquitto, startMosquitto } from '../../../servers/mosquitto.ts';
import type { TiedServer } from '../../../servers/tied-server.ts';

const found = await findMosquitto();
if (found.path === null) process.stderr.write(`The tests of mqtt are skipped: ${found.reason}\n`);

/** Password file of user `u`, password `right-secret`: PBKDF2 as `mosquitto_passwd` writes it, so that its tool is not needed. */
const passwords =
  'u:$7$101$Z2FudHJ5LXNhbHQh$8fHSu813PQxxfrhkDSLICGYOLONyeHDFg5a0/DpJpUDxRsvpoZUaEQcFDaQSf+CJJqa4mcbbRuAlUtT9/T+GcQ==\n';

describe.skipIf(found.path === null)('mqtt', () => {
  let dir: string;
  let server: TiedServer;

  beforeAll(async () => {
    dir = await mkdtemp(join(tmpdir(), 'gantry-mqtt-'));
    await writeFile(join(dir, 'passwords'), passwords);
    await writeFile(join(dir, 'acl'), 'user u\ntopic readwrite #\ntopic deny no/#\n');
    server = await startMosquitto({
      dir,
      config: `password_file ${join(dir, 'passwords')}\nacl_file ${join(dir, 'acl')}\nmessage_size_limit 20000000`,
    });
  });
  afterAll(async () => {
    await server[Symbol.asyncDispose]();
    await rm(dir, { recursive: true, force: true });
  });

  const open = (changes: object = {}, more = {}) =>
    openDatasource(
      mqtt,
      { brokerUrl: `mqtt://localhost:${server.port}`, username: 'u', password: 'right-secret', ...changes },
      more,
    );

  test.each(['3.1.1', '5'])('with version %s published messages arrive unchanged', async (protocolVersion) => {
    await using datasource = await open({ protocolVersion });
    await datasource.test();
    const values: [JsonObject, string][] = [
      [{ payload: 'Grüße 🦑\r\n\0' }, 'Grüße 🦑\r\n\0'],
      [{ payload: '9007199254740993' }, '9007199254740993'],
      [{ payload: { n: null, big: '123456789012345678901234567890', list: [1.5, true] } }, ''],
      [{ payload: 0 }, '0'],
      [{ payload: 'x'.repeat(1_000_000) }, 'x'.repeat(1_000_000)],
    ];
    for (const [at, [inputs, text]] of values.entries()) {
      const qos = at % 3;
      const topic = `kinds/${protocolVersion}/${at}`;
      const publish = { operation: 'publish', topic, message: '{{inputs.payload}}', qos, retain: true };
      expect(await datasource.execute(publish, inputs)).toMatchObject({ affectedRows: 1 });
      const read = () => datasource.execute({ operation: 'read', topic, qos, waitSeconds: 0 });
      const { data } = await read();
      if (text.length > 100_000) expect(await reservedBy(read)).toBeGreaterThanOrEqual(text.length);
      expect(data).toEqual([{ topic, message: text || JSON.stringify(inputs.payload), qos, retain: true }]);
    }
  });

  test('bytes are read as base64, and bytes that are no text are an error when read as text', async () => {
    await using datasource = await open();
    const message = randomBytes(1_000).toString('base64');
    await datasource.execute({ operation: 'publish', topic: 'bytes', message, encoding: 'base64', retain: true });

    const { data } = await datasource.execute({
      operation: 'read',
      topic: 'bytes',
      encoding: 'base64',
      waitSeconds: 0,
    });
    expect(data).toMatchObject([{ message }]);
    await expect(datasource.execute({ operation: 'read', topic: 'bytes', waitSeconds: 0 })).rejects.toMatchObject({
      code: 'DB_ERROR',
    });
    await expect(
      datasource.execute({ operation: 'publish', topic: 'bytes', message: 'no!', encoding: 'base64' }),
    ).rejects.toMatchObject({ code: 'VALIDATION_ERROR' });
  });

  test('an empty message deletes the retained one', async () => {
    await using datasource = await open();
    const read = { operation: 'read', topic: 'kept', waitSeconds: 0 };
    await datasource.execute({ operation: 'publish', topic: 'kept', message: 'once', retain: true });
    expect(await datasource.execute(read)).toMatchObject({ rowCount: 1 });

    await datasource.execute({ operation: 'publish', topic: 'kept', message: '', retain: true });

    expect(await datasource.execute(read)).toMatchObject({ data: [], rowCount: 0, truncated: false });
  });

  test('a read gets the messages published meanwhile, of several topics, up to the requested number', async () => {
    await using datasource = await open();
    let isRead = false;
    const reading = datasource
      .execute({ operation: 'read', topic: 'live/+/#', qos: 2, messageCount: 6, waitSeconds: 20 })
      .finally(() => {
        isRead = true;
      });
    while (!isRead)
      await Promise.all(
        [0, 1, 2].map((qos) => datasource.execute({ operation: 'publish', topic: `live/${qos}/x`, message: qos, qos })),
      );

    const { data } = await reading;
    expect(data).toHaveLength(6);
    expect(data).toContainEqual({ topic: 'live/2/x', message: '2', qos: 2, retain: false });
  });

  test('messages beyond the requested number or the size limit are left out, and the answer says so', async () => {
    await using datasource = await open();
    const big = 'y'.repeat(5_000_000);
    for (const n of [1, 2, 3])
      await datasource.execute({ operation: 'publish', topic: `big/${n}`, message: big, qos: 1, retain: true });

    const read = { operation: 'read', topic: 'big/#', qos: 1 };
    expect(await datasource.execute({ ...read, waitSeconds: 3 })).toMatchObject({ rowCount: 2, truncated: true });
    expect(await datasource.execute({ ...read, messageCount: 3 }, {}, { maxRows: 1 })).toMatchObject({
      rowCount: 1,
      truncated: true,
    });
    await datasource.execute({ operation: 'publish', topic: 'huge', message: big.repeat(3), retain: true });
    await expect(datasource.execute({ operation: 'read', topic: 'huge' })).rejects.toMatchObject({
      code: 'PAYLOAD_TOO_LARGE',
    });
  });

  test('a value is one level of a topic and never a wildcard', async () => {
    await using datasource = await open();
    const run = async (query: JsonObject, inputs: JsonObject) => datasource.execute(query, inputs);
    for (const v of ['+', '#', 'a/b', '\0', 'a\r\nb'])
      for (const operation of ['publish', 'read'])
        await expect(
          run({ operation, topic: 'rooms/{{inputs.v}}/state' }, { v }),
          JSON.stringify(v),
        ).rejects.toMatchObject({ code: 'VALIDATION_ERROR' });
    for (const topic of ['a/#', '+', '{{inputs.v}}', '', 'a\0b', 'x'.repeat(70_000)])
      await expect(run({ operation: 'publish', topic }, { v: '#' })).rejects.toMatchObject({
        code: 'VALIDATION_ERROR',
      });
    for (const topic of ['a#', '#/a', 'a+/b', '{{inputs.v}}'])
      await expect(run({ operation: 'read', topic }, { v: '#' })).rejects.toMatchObject({
        code: 'VALIDATION_ERROR',
      });

    const v = "x' $SYS {{inputs.v}} 🦑";
    await run({ operation: 'publish', topic: 'odd/{{inputs.v}}', message: '{{inputs.v}}', retain: true }, { v });
    const { data } = await run({ operation: 'read', topic: 'odd/{{inputs.v}}', waitSeconds: 0 }, { v });
    expect(data).toMatchObject([{ topic: `odd/${v}`, message: v }]);
    const whole = { operation: 'read', topic: '{{inputs.v}}', waitSeconds: 0 };
    expect(await run(whole, { v: `odd/${v}` })).toMatchObject({ rowCount: 1 });
  });

  test('a refusal of the broker is an error, if the protocol version reports it', async () => {
    await using datasource = await open({ protocolVersion: '5' });

    await expect(datasource.execute({ operation: 'publish', topic: 'no/way', qos: 1 })).rejects.toMatchObject({
      code: 'DB_ERROR',
      message: expect.stringContaining('no/way'),
      details: { mqtt_code: 135, issues: [{ path: ['topic'] }] },
    });
    await expect(datasource.execute({ operation: 'publish', topic: 'no/way', qos: 2 })).rejects.toMatchObject({
      code: 'DB_ERROR',
    });
    expect(await datasource.execute({ operation: 'publish', topic: 'yes', qos: 2 })).toMatchObject({ affectedRows: 1 });
  });

  test('a waiting read ends when aborted, and at its time limit', async () => {
    await using datasource = await open();
    const read = { operation: 'read', topic: 'nothing/ever', waitSeconds: 30 };
    await expect(datasource.execute(read, {}, { signal: AbortSignal.timeout(200) })).rejects.toMatchObject({
      code: 'UPSTREAM_TIMEOUT',
      details: { reason: 'timeout' },
    });
    expect(await datasource.execute({ ...read, waitSeconds: 0.3 })).toMatchObject({ data: [], truncated: false });
  });

  test('a hundred concurrent messages arrive, also after the server was killed and restarted', async () => {
    await using datasource = await open();
    const publish = (qos: number) => datasource.execute({ operation: 'publish', topic: 'a', message: 'm', qos });
    await Promise.all(Array.from({ length: 100 }, (_, n) => publish(n % 3)));
    // With version 5 the broker announces how many it accepts concurrently.
    await using modern = await open({ protocolVersion: '5' });
    const query = { operation: 'publish', topic: 'a', message: 'm', qos: 2 };
    await Promise.all(Array.from({ length: 100 }, () => modern.execute(query)));
    const reading = datasource.execute({ operation: 'read', topic: 'silent', waitSeconds: 30 });
    reading.catch(() => undefined);
    await datasource.execute({ operation: 'read', topic: 'silent', waitSeconds: 0.2 });
    await server.kill9();

    await expect(publish(1)).rejects.toMatchObject({ code: 'UPSTREAM_FAILED' });
    await expect(reading).rejects.toMatchObject({ details: { reason: 'lost' } });

    await server.restart();
    expect(await publish(1)).toMatchObject({ affectedRows: 1 });
  });

  test('with a client id of its own it can still publish and read concurrently', async () => {
    await using datasource = await open({ clientId: 'the-one' });
    let isRead = false;
    const reading = datasource
      .execute({ operation: 'read', topic: 'id', messageCount: 1, waitSeconds: 10 })
      .finally(() => {
        isRead = true;
      });
    while (!isRead) await datasource.execute({ operation: 'publish', topic: 'id', message: 'm', qos: 1 });

    expect(await reading).toMatchObject({ rowCount: 1 });
  });

  test('a wrong password, host and certificate have different errors, without the secret', async () => {
    await using silent = await startTCP();
    const [cert, key] = [join(dir, 'cert.pem'), join(dir, 'key.pem')];
    await writeFile(cert, certificates.server);
    await writeFile(key, certificates.serverKey);
    await using encrypted = await startMosquitto({
      dir,
      config: 'allow_anonymous true',
      listener: `certfile ${cert}\nkeyfile ${key}`,
    });
    const tls = { brokerUrl: `localhost:${encrypted.port}`, useTLS: true, username: '', password: '' };
    for (const changes of [tls, { ...tls, useTLS: false, brokerUrl: `mqtts://localhost:${encrypted.port}` }]) {
      await using right = await open({ ...changes, caCertificate: certificates.authority });
      await right.test();
      await right.execute({ operation: 'publish', topic: 'tls', message: 'z'.repeat(200_000), retain: true });
      expect(await right.execute({ operation: 'read', topic: 'tls', waitSeconds: 0 })).toMatchObject({ rowCount: 1 });
    }

    const wrong: [object, string][] = [
      [{ password: 'wrong-secret' }, 'authentication'],
      [{ password: 'wrong-secret', protocolVersion: '5' }, 'authentication'],
      [{ username: '', password: '' }, 'authentication'],
      [{ brokerUrl: `localhost:${await freePort()}`, password: 'wrong-secret' }, 'unreachable'],
      [{ brokerUrl: 'nowhere.invalid', password: 'wrong-secret' }, 'unreachable'],
      [{ brokerUrl: `localhost:${silent.port}`, password: 'wrong-secret' }, 'timeout'],
      [{ useTLS: true, password: 'wrong-secret' }, 'tls'],
      [{ ...tls }, 'tls'],
      [{ ...tls, caCertificate: certificates.otherAuthority }, 'tls'],
      [{ ...tls, caCertificate: certificates.authority, brokerUrl: `127.0.0.1:${encrypted.port}` }, 'tls'],
    ];
    for (const [changes, reason] of wrong) {
      await using datasource = await open(changes);
      const signal = AbortSignal.timeout(reason === 'timeout' ? 500 : 10_000);
      const error = await datasource.test(signal).catch((failure: unknown) => failure);
      expect(error, JSON.stringify(changes)).toMatchObject({
        code: reason === 'timeout' ? 'UPSTREAM_TIMEOUT' : 'UPSTREAM_FAILED',
        details: { reason },
      });
      expect(inspect(error, { depth: 9 })).not.toContain('wrong-secret');
    }
  });

  test('a URL of another kind, or with credentials, is refused, and the field is named', async () => {
    for (const brokerUrl of [
      'ws://h',
      'wss://h:1/mqtt',
      'http://h',
      'mqtt://u:hush@h',
      'mqtt://h/x',
      'mqtt://h?a=b',
      'mqtt://',
    ]) {
      const error = await open({ brokerUrl }).catch((failure: unknown) => failure);
      expect(error, brokerUrl).toMatchObject({
        code: 'VALIDATION_ERROR',
        message: expect.stringContaining('brokerUrl'),
      });
      expect(inspect(error)).not.toContain('hush');
    }
  });

  test('an address that is not allowed is not connected to', async () => {
    const outbound = createOutbound({ allow: [] });
    for (const host of ['localhost', '127.0.0.1', '2130706433', '[::ffff:127.0.0.1]']) {
      await using datasource = await open({ brokerUrl: `mqtt://${host}:${server.port}` }, { outbound });
      await expect(datasource.test(), host).rejects.toMatchObject({ details: { reason: 'not-allowed' } });
    }
  });
});

describe('a program that answers as an MQTT broker', () => {
  const welcome = { '3.1.1': Buffer.from([0x20, 2, 0, 0]), '5': Buffer.from([0x20, 3, 0, 0, 0]) };
  const suback = { '3.1.1': Buffer.from([0x90, 3, 0, 1, 0]), '5': Buffer.from([0x90, 4, 0, 1, 0, 0]) };
  const quick = { signal: AbortSignal.timeout(60_000) };

  const openAt = (port: number, changes: object = {}) =>
    openDatasource(mqtt, { brokerUrl: `localhost:${port}`, ...changes });

  test('may not be a broker', async () => {
    for (const says of ['HTTP/1.1 400 Bad Request\r\n\r\n', randomBytes(5_000), '\x20\xff\xff\xff\xff\xff', '']) {
      await using server = await startTCP((socket) => (says === '' ? socket.destroy() : socket.write(says)));
      await using datasource = await openAt(server.port);
      // Random bytes may begin like a long packet, whose end does not come in time.
      await expect(datasource.execute({ operation: 'publish', topic: 'a' })).rejects.toMatchObject({
        code: expect.stringMatching(/^UPSTREAM_(FAILED|TIMEOUT)$/),
      });
    }
  });

  test('may fall silent after it accepted the connection', async () => {
    await using server = await startTCP((socket) => socket.once('data', () => socket.write(welcome['3.1.1'])));
    await using datasource = await openAt(server.port, { keepAlive: 1 });
    for (const qos of [0, 1, 2])
      await expect(
        datasource.execute({ operation: 'publish', topic: 'a', qos }, {}, { signal: AbortSignal.timeout(200) }),
      ).rejects.toMatchObject({ code: 'UPSTREAM_TIMEOUT', details: { reason: 'timeout' } });

    // The connector's own pings detect it, too.
    await expect(datasource.execute({ operation: 'publish', topic: 'a', qos: 1 }, {}, quick)).rejects.toMatchObject({
      details: { reason: 'lost' },
    });
  });

  test('may send a message above the size limit', async () => {
    await using server = await startTCP((socket) =>
      socket.once('data', () => {
        socket.write(welcome['3.1.1']);
        // A message that claims to have 256 MB.
        socket.write(Buffer.from([0x30, 0xff, 0xff, 0xff, 0x7f, 0, 1, 0x61]));
        pour(socket);
      }),
    );
    await using datasource = await openAt(server.port);
    const before = process.memoryUsage().rss;

    await expect(datasource.execute({ operation: 'read', topic: '#' }, {}, quick)).rejects.toMatchObject({
      code: 'PAYLOAD_TOO_LARGE',
    });
    expect(process.memoryUsage().rss - before).toBeLessThan(250_000_000);
  });

  test.each(['3.1.1', '5'] as const)('may send any packet of version %s at any time', async (protocolVersion) => {
    await using server = await startTCP((socket) =>
      socket.once('data', () => {
        socket.write(welcome[protocolVersion]);
        socket.once('data', () => {
          socket.write(suback[protocolVersion]);
          for (let n = 0; n < 5; n += 1) socket.write(anyPacket());
          setTimeout(() => socket.destroy(), 5);
        });
      }),
    );
    await using datasource = await openAt(server.port, { protocolVersion });
    const queries: JsonObject[] = [
      { operation: 'read', topic: '#', waitSeconds: 5 },
      { operation: 'publish', topic: 'a', qos: 0 },
      { operation: 'publish', topic: 'a', qos: 1 },
      { operation: 'publish', topic: 'a', qos: 2 },
    ];
    for (let round = 0; round < 100; round += 1) {
      const ended = await Promise.allSettled(queries.map((query) => datasource.execute(query, {}, quick)));
      for (const outcome of ended)
        if (outcome.status === 'rejected') expect(outcome.reason.code).toMatch(/^(?:UPSTREAM_FAILED|DB_ERROR)$/);
    }
  });

  function anyPacket(): Buffer {
    const [kind = 0, flags = 0, length = 0] = randomBytes(3);
    const body = randomBytes(length % 40);
    if (body.length > 2) body.writeUInt16BE(kind % 6);
    const type = kind % 16;
    const usual = type === 6 || type === 8 || type === 10 ? 2 : type === 3 ? (flags % 3) * 2 : 0;
    return Buffer.concat([Buffer.from([(type << 4) | (flags % 4 === 0 ? flags % 16 : usual), body.length]), body]);
  }
});

function pour(socket: Socket): void {
  const chunk = Buffer.alloc(1_000_000);
  const more = () => {
    while (socket.writable && socket.write(chunk));
  };
  socket.on('drain', more);
  more();
}
