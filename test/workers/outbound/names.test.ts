import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createSemaphore } from '#shared/concurrency/semaphore.ts';
import { Permit } from '#shared/concurrency/work-context.ts';
import { readConfig } from '#shared/process/config.ts';
import { createOutbound, type Outbound } from '#workers/outbound/gate.ts';
import { createNames } from '#workers/outbound/names.ts';
import { namesToTry, parseHosts, parseSearch } from '#workers/outbound/resolver-files.ts';
import { eventually } from '../../support/settle.ts';

const A = 1;
const AAAA = 28;

/**
 * A name server on loopback that gets no further than its questions for names that begin with `silent`, and answers each question for
 * one that begins with `rebinds` with the next address.
 */
async function startNameServer() {
  let rebound = 0;
  const socket = createSocket('udp4');
  const questions: string[] = [];
  socket.on('message', (query, from) => {
    const { name, type, end } = questionOf(query);
    questions.push(`${name} ${type}`);
    if (name.startsWith('silent') || (type === AAAA && name.startsWith('half'))) return;
    if (type === A && name.startsWith('rebinds')) rebound += 1;
    const address = name.startsWith('rebinds') ? reboundAddress(type, rebound) : addressOf(name, type);
    socket.send(answerTo(query, { type, end, address }), from.port, from.address);
  });
  socket.bind(0, '127.0.0.1');
  await once(socket, 'listening');
  return { server: `127.0.0.1:${socket.address().port}`, questions, close: () => socket.close() };
}

/** Undefined: there is no such name. Null: it has no such address. */
type Answer = number[] | null | undefined;

function reboundAddress(type: number, times: number): Answer {
  return type === A ? [127, 0, 0, times === 1 ? 2 : 1] : null;
}

function addressOf(name: string, type: number): Answer {
  return name.startsWith('missing') ? undefined : addresses[type];
}

const TTL = 300;

function answerTo(query: Buffer, { type, end, address }: { type: number; end: number; address: Answer }): Buffer {
  const count = address ? 1 : 0;
  const code = address === undefined ? 0x83 : 0x80;
  const header = Buffer.from([query[0] ?? 0, query[1] ?? 0, 0x81, code, 0, 1, 0, count, 0, 0, 0, 0]);
  const record = address
    ? Buffer.from([0xc0, 12, 0, type, 0, 1, 0, 0, TTL >> 8, TTL & 255, 0, address.length, ...address])
    : Buffer.alloc(0);
  return Buffer.concat([header, query.subarray(12, end), record]);
}

const addresses: Record<number, number[]> = {
  [A]: [203, 0, 113, 7],
  [AAAA]: [0x20, 1, 0xd, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 7],
};

function questionOf(query: Buffer): { name: string; type: number; end: number } {
  const labels: string[] = [];
  let at = 12;
  for (let length = query[at] ?? 0; length > 0; length = query[at] ?? 0) {
    labels.push(query.toString('latin1', at + 1, at + 1 + length));
    at += length + 1;
  }
  return { name: labels.join('.').toLowerCase(), type: query.readUInt16BE(at + 1), end: at + 5 };
}

let nameServer: Awaited<ReturnType<typeof startNameServer>>;
beforeAll(async () => {
  nameServer = await startNameServer();
});
afterAll(() => nameServer.close());

const namesWith = (more = {}) => createNames({ servers: [nameServer.server], timeoutMs: 1_500, ...more });

/** Runs work as that of a tenant. */
function as<T>(tenantID: string, creatorID: string, work: () => T): T {
  const lookups = createSemaphore({ permits: 1 });
  lookups.tryAcquire({ tenantID, creatorID });
  return new Permit(lookups, { tenantID, creatorID }).run(work);
}

describe('a lookup', () => {
  test('answers with all addresses, IPv4 first, and remembers them', async () => {
    const lookup = namesWith();

    expect(await lookup('both.example.test')).toEqual(['203.0.113.7', '2001:db8::7']);
    const asked = nameServer.questions.length;
    expect(await lookup('BOTH.example.test.')).toEqual(['203.0.113.7', '2001:db8::7']);
    expect(nameServer.questions).toHaveLength(asked);
  });

  test('asks once for many that come together', async () => {
    const lookup = namesWith();

    await Promise.all(Array.from({ length: 10 }, () => lookup('together.example.test')));

    expect(nameServer.questions.filter((question) => question === 'together.example.test 1')).toHaveLength(1);
  });

  test('does not wait long for IPv6 addresses once it has IPv4 ones', async () => {
    expect(await namesWith({ timeoutMs: 60_000 })('half.example.test')).toEqual(['203.0.113.7']);
  });

  test('reports a name that does not exist, and remembers that too', async () => {
    const lookup = namesWith();
    const missing = { code: 'UPSTREAM_FAILED', message: 'There is no host missing.example.test' };

    await expect(lookup('missing.example.test')).rejects.toMatchObject(missing);
    const asked = nameServer.questions.length;
    await expect(lookup('missing.example.test')).rejects.toMatchObject(missing);
    expect(nameServer.questions.filter((question) => question.startsWith('missing.example.test '))).toHaveLength(2);
    expect(nameServer.questions).toHaveLength(asked);
  });

  test.each(['', '.', 'a b', 'a..b', `${'x'.repeat(64)}.test`, 'host/path', 'user@host'])(
    'asks no server for %j',
    async (host) => {
      const asked = nameServer.questions.length;
      await expect(namesWith()(host)).rejects.toMatchObject({ code: 'UPSTREAM_FAILED' });
      expect(nameServer.questions).toHaveLength(asked);
    },
  );

  test('reports a silent name server as a timeout, and a name server that is not there', async () => {
    await expect(namesWith({ timeoutMs: 200 })('silent.example.test')).rejects.toMatchObject({
      code: 'UPSTREAM_TIMEOUT',
      message: 'The name silent.example.test was not resolved in time',
      details: { reason: 'timeout' },
    });
    await expect(createNames({ servers: ['127.0.0.1:1'] })('any.example.test')).rejects.toMatchObject({
      code: 'UPSTREAM_FAILED',
      message: 'No name server could resolve any.example.test',
    });
  });

  test('ends with the signal of its caller', async () => {
    const signal = AbortSignal.timeout(50);
    const error = await namesWith({ timeoutMs: 60_000 })('silent.example.test', signal).catch((thrown) => thrown);
    expect(error).toBe(signal.reason);
  });
});

test('a name that stands for loopback the next time is connected to at the checked address, or not at all', async () => {
  const { allow } = readConfig({ DATABASE_URL: 'postgres://u:p@h/d', OUTBOUND_ALLOW: '127.0.0.2/32' }).outbound;
  await using listeners = new AsyncDisposableStack();
  const met: string[] = [];
  let port = 0;
  for (const address of ['127.0.0.2', '127.0.0.1']) {
    const listener = createServer((socket) => {
      met.push(address);
      socket.destroy();
    }).listen(port, address);
    await once(listener, 'listening');
    listeners.defer(() => void listener.close());
    ({ port } = listener.address() as AddressInfo);
  }
  const connect = (outbound: Outbound) =>
    outbound.connect({ host: 'rebinds.example.test', port }, AbortSignal.timeout(5_000));
  const outbound = createOutbound({ allow }, namesWith());

  for (const socket of [await connect(outbound), await connect(outbound)]) {
    expect(socket.remoteAddress).toBe('127.0.0.2');
    socket.destroy();
  }
  // Another worker asks the name server itself.
  await expect(connect(createOutbound({ allow }, namesWith()))).rejects.toMatchObject({
    details: { reason: 'not-allowed' },
  });

  expect(nameServer.questions.filter((question) => question === 'rebinds.example.test 1')).toHaveLength(2);
  await eventually(() => expect(met).toEqual(['127.0.0.2', '127.0.0.2']));
});

describe('lookups at a silent name server', () => {
  test('delay neither local names nor files, however many there are', async () => {
    const lookup = namesWith();
    const ended: string[] = [];
    const slow = Array.from({ length: 10 }, (_, n) =>
      lookup(`silent${n}.example.test`).catch(() => ended.push(`silent${n}`)),
    );

    expect(await lookup('localhost')).toEqual(expect.arrayContaining(['127.0.0.1']));
    expect(await lookup('prompt.example.test')).toContain('203.0.113.7');
    // The pool of threads, which `getaddrinfo` would occupy.
    const { stat } = await import('node:fs/promises');
    await Promise.all(Array.from({ length: 8 }, () => stat('/')));

    expect(ended).toEqual([]);
    await Promise.all(slow);
    expect(ended).toHaveLength(10);
  });

  test('of 25 tenants of one creator delay no lookup of another tenant', async () => {
    const lookup = namesWith({ maxConcurrent: 8 });
    let ended = 0;
    const slow = Array.from({ length: 100 }, (_, n) =>
      as(`tenant${n % 25}`, 'one', () => lookup(`silent-${n}.example.test`, AbortSignal.timeout(3_000))).catch(() => {
        ended += 1;
      }),
    );

    expect(await as('other', 'two', () => lookup('other.example.test'))).toContain('203.0.113.7');

    expect(ended).toBe(0);
    await Promise.all(slow);
  });
});

test('the hosts file names addresses, IPv4 first', () => {
  const hosts = parseHosts('::1 me ip6-me # mine\n\n127.0.0.1\tme  Other\n# 10.0.0.1 not\nnonsense here\n');

  expect([...hosts]).toEqual([
    ['me', ['127.0.0.1', '::1']],
    ['ip6-me', ['::1']],
    ['other', ['127.0.0.1']],
  ]);
});

test('short names are completed as resolv.conf says', () => {
  const search = parseSearch('nameserver 10.0.0.10\nsearch a.svc.local svc.local.\noptions timeout:2 ndots:2\n');

  expect(namesToTry('db', search)).toEqual(['db.a.svc.local', 'db.svc.local', 'db']);
  expect(namesToTry('db.b.svc', search)).toEqual(['db.b.svc', 'db.b.svc.a.svc.local', 'db.b.svc.svc.local']);
  expect(namesToTry('db.', search)).toEqual(['db']);
  expect(namesToTry('api.example.com', parseSearch(''))).toEqual(['api.example.com']);
});
