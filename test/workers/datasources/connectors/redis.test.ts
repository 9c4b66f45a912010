import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { inspect } from 'node:util';
import { Redis } from 'ioredis';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { freePort } from '#ops/embedded/ports.ts';
import { redis } from '#shared/datasources/types/redis.ts';
import { certificates } from '#test/support/certificates.ts';
import { type OpenedDatasource, openDatasource } from '#test/support/connector.ts';
import { reservedBy } from '#test/support/reserved-bytes.ts';
import { startTCP } from '#test/support/tcp.ts';
import { startTLSFront } from '#test/support/tls-front.ts';
import { createOutbound } from '#workers/outbound/gate.ts';
import { type EmbeddedRedis, findRedis, startRedis } from '../../../servers/redis.ts';

const found = await findRedis();
if (found.path === null) process.stderr.write(`The tests of redis are skipped: ${found.reason}\n`);

describe.skipIf(found.path === null)('redis', () => {
  let dir: string;
  let server: EmbeddedRedis;
  let admin: Redis;
  let datasource: OpenedDatasource;

  const details = (changes: object = {}) => ({
    connectionOption: 'connectionDetails',
    connectionDetails: { host: 'localhost', port: server.port, ...changes },
  });

  beforeAll(async () => {
    dir = await mkdtemp(join(tmpdir(), 'gantry-redis-'));
    server = await startRedis({ dir });
    admin = new Redis(server.url, { retryStrategy: () => 50 });
    admin.on('error', () => undefined);
    datasource = await openDatasource(redis, details());
  });
  beforeEach(() => admin.flushall());
  afterAll(async () => {
    await datasource[Symbol.asyncDispose]();
    admin.disconnect();
    await server.stop();
    await rm(dir, { recursive: true, force: true });
  });

  const data = async (query: object, inputs = {}, run = {}) =>
    (await datasource.execute(query as never, inputs, run)).data;

  test('what is read counts among the bytes that a worker holds, also a stream of many pages', async () => {
    await admin.set('value', 'x'.repeat(100_000));
    await admin.rpush('list', ...Array.from({ length: 100 }, () => 'x'.repeat(1_000)));
    for (let n = 0; n < 2_500; n += 500)
      await Promise.all(Array.from({ length: 500 }, () => admin.xadd('stream', '*', 'field', 'x'.repeat(40))));
    const all = { operation: 'xrange', key: 'stream', start: '-', stop: '+' };
    const found: { rowCount?: number; truncated?: boolean }[] = [];

    expect(await reservedBy(() => datasource.execute({ operation: 'get', key: 'value' }))).toBeGreaterThanOrEqual(
      100_000,
    );
    expect(
      await reservedBy(() => datasource.execute({ operation: 'lrange', key: 'list', start: 0, stop: -1 })),
    ).toBeGreaterThanOrEqual(100_000);
    expect(
      await reservedBy(async () => found.push(await datasource.execute(all, {}, { maxRows: 10_000 }))),
    ).toBeGreaterThanOrEqual(100_000);
    found.push(await datasource.execute(all, {}, { maxRows: 2_000 }));
    expect(found).toMatchObject([
      { rowCount: 2_500, truncated: false },
      { rowCount: 2_000, truncated: true },
    ]);
  });

  test('texts, numbers beyond 2^53, JSON, null and bytes are read as they were written', async () => {
    await datasource.test();

    await data({ operation: 'set', key: 'text', value: '{{inputs.value}}' }, { value: 'Grüße 🎈' });
    await data({ operation: 'set', key: 'json', value: '{{inputs.value}}' }, { value: { a: [1, null] } });
    await data({ operation: 'set', key: 'bytes', value: '/wAB', encoding: 'base64' });
    await data({ operation: 'set', key: 7, value: '9007199254740993' });

    expect(await data({ operation: 'get', key: 'text' })).toBe('Grüße 🎈');
    expect(await data({ operation: 'get', key: 'json' })).toBe('{"a":[1,null]}');
    expect(await data({ operation: 'get', key: 'bytes', encoding: 'base64' })).toBe('/wAB');
    expect(await data({ operation: 'get', key: '{{inputs.k}}' }, { k: 7 })).toBe('9007199254740993');
    expect(await data({ operation: 'get', key: 'nothing' })).toBeNull();
    await expect(data({ operation: 'get', key: 'bytes' })).rejects.toMatchObject({ code: 'DB_ERROR' });
  });

  test('every operation has the effect of its command', async () => {
    expect(await data({ operation: 'set', key: 'k', value: 'v', ttl: 100 })).toBe('OK');
    expect(await data({ operation: 'ttl', key: 'k' })).toBe(100);
    expect(await data({ operation: 'expire', key: 'k', ttl: '{{inputs.ttl}}' }, { ttl: 50 })).toBe(1);
    expect(await data({ operation: 'exists', key: ['k', 'other'] })).toBe(1);
    expect(await data({ operation: 'keys', pattern: 'k*' })).toEqual(['k']);
    expect(await datasource.execute({ operation: 'del', key: 'k' })).toMatchObject({ data: 1, affectedRows: 1 });

    expect(await data({ operation: 'hset', key: 'h', field: '__proto__', value: 'x' })).toBe(1);
    expect(await data({ operation: 'hget', key: 'h', field: '__proto__' })).toBe('x');
    expect(JSON.stringify(await data({ operation: 'hgetall', key: 'h' }))).toBe('{"__proto__":"x"}');
    expect(await data({ operation: 'hdel', key: 'h', field: ['__proto__', 'b'] })).toBe(1);

    expect(await data({ operation: 'rpush', key: 'l', value: ['a', 'b', 'c'] })).toBe(3);
    expect(await data({ operation: 'lpush', key: 'l', value: '0' })).toBe(4);
    expect(await data({ operation: 'lrange', key: 'l', start: -3, stop: -2 })).toEqual(['a', 'b']);
    expect(await data({ operation: 'llen', key: 'l' })).toBe(4);
    expect(await data({ operation: 'lpop', key: 'l' })).toBe('0');
    expect(await data({ operation: 'rpop', key: 'l' })).toBe('c');

    expect(await data({ operation: 'sadd', key: 's', value: ['a', 'b'] })).toBe(2);
    expect(await data({ operation: 'srem', key: 's', value: 'b' })).toBe(1);
    expect(await data({ operation: 'smembers', key: 's' })).toEqual(['a']);
    expect(await data({ operation: 'sismember', key: 's', value: 'a' })).toBe(1);

    const id = await data({ operation: 'xadd', key: 'x', value: { a: 1, b: 'two' } });
    expect(await data({ operation: 'xlen', key: 'x' })).toBe(1);
    expect(await data({ operation: 'xrange', key: 'x' })).toEqual([{ id, fields: { a: '1', b: 'two' } }]);
    expect(await data({ operation: 'xread', key: 'x', streamId: '0' })).toEqual([{ id, fields: { a: '1', b: 'two' } }]);
    expect(await data({ operation: 'xread', key: 'x', streamId: id as string })).toEqual([]);
    await data({ operation: 'xadd', key: 'own', value: JSON.parse('{"__proto__": "p", "a": 1}') });
    expect(JSON.stringify(await data({ operation: 'xrange', key: 'own' }))).toContain('"__proto__":"p"');
    expect(await data({ operation: 'publish', channel: 'c', value: 'm' })).toBe(0);
  });

  test('a value stays one argument, and no other command can be sent', async () => {
    await admin.set('victim', '1');

    await data({ operation: 'set', key: 'k', value: '{{inputs.v}}' }, { v: 'x\r\nDEL victim\r\n' });
    await data({ operation: 'get', key: '{{inputs.k}}' }, { k: 'k\r\nFLUSHALL' });

    expect(await admin.exists('victim')).toBe(1);
    for (const operation of ['flushall', 'config', 'eval'])
      await expect(data({ operation, key: 'k' })).rejects.toMatchObject({ code: 'VALIDATION_ERROR' });
    await expect(data({ operation: '{{inputs.o}}', key: 'k' }, { o: 'flushall' })).rejects.toMatchObject({
      code: 'VALIDATION_ERROR',
    });
  });

  test("the server's error about an invalid query is returned", async () => {
    await admin.rpush('list', 'a');

    await expect(data({ operation: 'get', key: 'list' })).rejects.toMatchObject({
      code: 'DB_ERROR',
      details: { redis_code: 'WRONGTYPE' },
    });
  });

  test('of many elements only the requested ones are read, from every type of key', async () => {
    await admin.eval(
      "for i = 1, 50000 do redis.call('set', 'n' .. i, i) redis.call('rpush', 'list', i) redis.call('sadd', 'set', i) redis.call('hset', 'hash', i, i) redis.call('xadd', 'stream', '*', 'n', i) end",
      0,
    );
    const sent = async () => Number(/total_net_output_bytes:(\d+)/.exec(await admin.info('stats'))?.[1]);

    for (const query of [
      { operation: 'keys' },
      { operation: 'lrange', key: 'list' },
      { operation: 'smembers', key: 'set' },
      { operation: 'hgetall', key: 'hash' },
      { operation: 'xrange', key: 'stream' },
      { operation: 'xread', key: 'stream', count: 50_000 },
    ]) {
      const before = await sent();
      expect(await datasource.execute(query as never, {}, { maxRows: 1_500 }), query.operation).toMatchObject({
        rowCount: 1_500,
        truncated: true,
      });
      // The server sends at least 11 bytes of each element: of all of them, half a million.
      expect((await sent()) - before, query.operation).toBeLessThan(200_000);
    }
  });

  test('an abort ends a scan at once, at the server too, and the next query is answered', async () => {
    await admin.eval("for i = 1, 300000 do redis.call('set', 'n' .. i, i) end", 0);
    const controller = new AbortController();
    const running = datasource.execute({ operation: 'keys', pattern: 'none' }, {}, { signal: controller.signal });
    setTimeout(() => controller.abort(), 20);

    await expect(running).rejects.toMatchObject({ code: 'UPSTREAM_TIMEOUT' });

    const scans = async () => /cmdstat_scan:calls=(\d+)/.exec(await admin.info('commandstats'))?.[1];
    await datasource.test();
    expect(await scans()).toBe(await scans());
    expect(await data({ operation: 'get', key: 'n1' })).toBe('1');
  });

  test('a silent server delays the caller no longer than its time limit', async () => {
    await using silent = await startTCP();
    await using stuck = await openDatasource(redis, details({ port: silent.port }));
    await expect(
      stuck.execute({ operation: 'get', key: 'a' }, {}, { signal: AbortSignal.timeout(200) }),
    ).rejects.toMatchObject({ code: 'UPSTREAM_TIMEOUT', details: { reason: 'timeout' } });
  });

  test('fifty concurrent queries are answered, also after the server was killed and restarted', async () => {
    await Promise.all(Array.from({ length: 50 }, (_, n) => data({ operation: 'set', key: `n${n}`, value: n })));
    await server.kill9();

    await expect(data({ operation: 'get', key: 'n1' })).rejects.toMatchObject({ code: 'UPSTREAM_FAILED' });

    await server.restart();
    expect(await data({ operation: 'exists', key: 'n1' })).toBe(0);
  });

  test('a wrong password, user, database, port and URL have different errors, without the secret', async () => {
    await admin.config('SET', 'requirepass', 'right-secret');
    try {
      await using right = await openDatasource(redis, {
        connectionOption: 'connectionUrl',
        connectionUrl: `redis://default:right-secret@localhost:${server.port}/3`,
      });
      await right.test();
      const closed = await freePort();
      const wrong: [object, string][] = [
        [{ password: 'wrong-secret' }, 'authentication'],
        [{ username: 'nobody', password: 'wrong-secret' }, 'authentication'],
        [{ password: '' }, 'authentication'],
        [{ port: closed, password: 'wrong-secret' }, 'unreachable'],
      ];
      for (const [changes, reason] of wrong) {
        await using refused = await openDatasource(redis, details(changes));
        const error = await refused.test().catch((error: unknown) => error);
        expect(error, reason).toMatchObject({ code: 'UPSTREAM_FAILED', details: { reason } });
        expect(inspect(error, { depth: 9 })).not.toContain('wrong-secret');
      }
    } finally {
      await admin.config('SET', 'requirepass', '');
    }
    const badURL = { connectionOption: 'connectionUrl', connectionUrl: 'redis://u:hush@h/0?path=/etc/passwd' };
    await expect(openDatasource(redis, badURL)).rejects.toMatchObject({ code: 'VALIDATION_ERROR' });
  });

  test('a certificate must match the host and be signed by a trusted authority', async () => {
    await using front = await startTLSFront(server.port);
    const at = (changes: object) => details({ port: front.port, tls: true, ...changes });
    await using trusted = await openDatasource(redis, at({ caCertificate: certificates.authority }));
    await trusted.test();

    for (const changes of [
      {},
      { caCertificate: certificates.otherAuthority },
      { caCertificate: certificates.authority, host: '127.0.0.1' },
    ]) {
      await using refused = await openDatasource(redis, at(changes));
      await expect(refused.test()).rejects.toMatchObject({ details: { reason: 'tls' } });
    }
  });

  test('an address that is not allowed is not connected to', async () => {
    const outbound = createOutbound({ allow: [] });
    for (const host of ['localhost', '127.0.0.1', '2130706433', '[::ffff:127.0.0.1]'.slice(1, -1)]) {
      await using refused = await openDatasource(redis, details({ host }), { outbound });
      await expect(refused.test(), host).rejects.toMatchObject({ details: { reason: 'not-allowed' } });
    }
  });
});
