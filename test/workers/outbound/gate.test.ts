import { describe, expect, test, vi } from 'vitest';
import { readConfig } from '#shared/process/config.ts';
import { createOutbound, type Outbound } from '#workers/outbound/gate.ts';
import type { Lookup } from '#workers/outbound/names.ts';
import { deniedBy } from '#workers/outbound/own-addresses.ts';

const outboundWith = (OUTBOUND_ALLOW: string) =>
  createOutbound(readConfig({ DATABASE_URL: 'postgres://u:p@h/d', OUTBOUND_ALLOW }).outbound);
const closed = outboundWith('');
const resolve = (outbound: Outbound, host: string) =>
  outbound.resolve({ host, port: 443 }, AbortSignal.timeout(10_000));

test.each([
  ['loopback', '127.0.0.1'],
  ['all of loopback', '127.255.255.254'],
  ['a name that stands for loopback', 'localhost'],
  ['loopback as one number', '2130706433'],
  ['loopback in hexadecimal', '0x7f000001'],
  ['loopback in octal', '0177.0.0.1'],
  ['loopback cut short', '127.1'],
  ['this host', '0.0.0.0'],
  ['zero', '0'],
  ['private 10', '10.0.0.5'],
  ['private 172', '172.31.255.255'],
  ['private 192', '192.168.1.1'],
  ['shared by carriers', '100.64.0.1'],
  ['the metadata of clouds', '169.254.169.254'],
  ['benchmarks', '198.18.0.1'],
  ['multicast', '224.0.0.1'],
  ['broadcast', '255.255.255.255'],
  ['IPv6 loopback', '::1'],
  ['IPv6 unspecified', '::'],
  ['IPv6 link-local', 'fe80::1'],
  ['IPv6 private', 'fd00:ec2::254'],
  ['IPv6 multicast', 'ff02::1'],
  ['IPv4 loopback mapped into IPv6', '::ffff:127.0.0.1'],
  ['the same in hexadecimal', '::ffff:7f00:1'],
  ['IPv4 metadata mapped into IPv6', '::ffff:169.254.169.254'],
  ['IPv4-compatible IPv6', '::127.0.0.1'],
  ['NAT64 of loopback', '64:ff9b::7f00:1'],
  ['6to4 of a private address', '2002:0a00:0001::1'],
  ['Teredo', '2001:0:4136:e378:8000:63bf:3fff:fdd2'],
  ['documentation', '2001:db8::1'],
])('%s is not public: %s', async (_what, host) => {
  await expect(resolve(closed, host)).rejects.toMatchObject({
    code: 'UPSTREAM_FAILED',
    details: { reason: expect.stringMatching(/not-allowed|unreachable/) },
  });
});

test('loopback is refused as such under any name or number, not as an unknown host', async () => {
  for (const host of ['localhost', '127.1', '2130706433', '::ffff:127.0.0.1'])
    await expect(resolve(closed, host)).rejects.toMatchObject({ details: { reason: 'not-allowed' } });
});

test('an address that is translated into IPv4 is as public, as allowed and as denied as that', async () => {
  const settings = {
    DATABASE_URL: 'postgres://u:p@203.0.113.5:5432/d',
    REDIS_URL: 'redis://127.0.0.1:6379',
    OUTBOUND_ALLOW: '64:ff9b::/96, 64:ff9b:1::/48, 2002::/16, 127.0.0.0/8, 203.0.113.0/24',
    OUTBOUND_DENY: '203.0.113.64/26',
  };
  const config = readConfig(settings);
  const open = createOutbound({ allow: config.outbound.allow, deny: deniedBy(config) });
  const at = (host: string, port: number) => open.resolve({ host, port }, AbortSignal.timeout(10_000));
  const own = { message: expect.stringContaining('it is an address of this service') };

  expect(await resolve(closed, '64:ff9b::808:808')).toEqual(['64:ff9b::808:808']);
  for (const host of ['64:ff9b::a00:1', '64:ff9b::10.0.0.1', '64:ff9b:1::a00:1', '2002:a00:1::1', '64:ff9b::a9fe:a9fe'])
    await expect(at(host, 443), host).rejects.toMatchObject({ details: { reason: 'not-allowed' } });
  for (const host of ['64:ff9b::203.0.113.5', '64:ff9b:1::cb00:7105', '2002:cb00:7105::1', '203.0.113.5'])
    await expect(at(host, 5432), host).rejects.toMatchObject(own);
  for (const host of ['64:ff9b::7f00:1', '2002:7f00:1::', '64:ff9b::7fff:fffe'])
    await expect(at(host, 6379), host).rejects.toMatchObject(own);
  await expect(at('64:ff9b::203.0.113.65', 443)).rejects.toMatchObject(own);
  for (const host of ['64:ff9b::203.0.113.5', '64:ff9b::7f00:1', '2002:cb00:7105::1'])
    expect(await at(host, 443)).toHaveLength(1);
});

test('public addresses may be connected to', async () => {
  for (const address of ['1.1.1.1', '8.8.8.8', '172.32.0.1', '100.128.0.1', '2606:4700:4700::1111', '::ffff:8.8.8.8'])
    expect(await resolve(closed, address)).toEqual([address]);
});

test('a deployment may allow its own addresses and networks', async () => {
  const open = outboundWith('127.0.0.1, 10.1.0.0/16, fd00::/8');

  expect(await resolve(open, '127.0.0.1')).toEqual(['127.0.0.1']);
  expect(await resolve(open, '10.1.2.3')).toEqual(['10.1.2.3']);
  expect(await resolve(open, 'fd12::1')).toEqual(['fd12::1']);
  expect(await resolve(open, 'localhost')).toEqual(['127.0.0.1']);
  for (const host of ['127.0.0.2', '10.2.0.1', '192.168.0.1', '::1'])
    await expect(resolve(open, host)).rejects.toMatchObject({ details: { reason: 'not-allowed' } });
});

test('an unknown host name is reported as such', async () => {
  await expect(resolve(closed, 'no-such-host.invalid')).rejects.toMatchObject({
    code: 'UPSTREAM_FAILED',
    message: 'There is no host no-such-host.invalid',
  });
});

test('resolving a name ends with the abort signal', async () => {
  await expect(
    closed.resolve({ host: 'localhost', port: 443 }, AbortSignal.abort(new Error('enough'))),
  ).rejects.toThrow('enough');
});

test.each(['10.0.0.0/33', 'example.com', '10.0.0.0/8/8', '10.0.0.0/', '::1/129', '10.0.0.0/x'])(
  'OUTBOUND_ALLOW refuses %s',
  (item) => {
    expect(() => outboundWith(item)).toThrow(`OUTBOUND_ALLOW: "${item}" must be`);
  },
);

describe('an address of the deployment', () => {
  /** The gate of a deployment that allows every address. */
  function gateOf(settings: Record<string, string>, names: Record<string, string[]> = {}) {
    const config = readConfig({
      DATABASE_URL: 'postgres://u:p@db.internal/d',
      OUTBOUND_ALLOW: '0.0.0.0/0,::/0',
      ...settings,
    });
    const lookup: Lookup = async (host) => {
      const found = names[host];
      if (!found && /[a-z]\.?[a-z]*$/.test(host)) throw new Error(`no ${host}`);
      return found ?? [host];
    };
    return createOutbound({ allow: config.outbound.allow, deny: deniedBy(config) }, lookup);
  }

  const reach = (outbound: Outbound, host: string, port: number) =>
    outbound.resolve({ host, port }, AbortSignal.timeout(10_000));
  const isOwn = {
    code: 'UPSTREAM_FAILED',
    message: expect.stringMatching(/is refused: it is an address of this service$/),
    details: { reason: 'not-allowed' },
  };

  test.each([
    ['the API', {}, '127.0.0.1', 8080],
    ['the board', {}, '127.0.0.1', 8081],
    ['the API on another port', { PORT: '9000' }, '127.0.0.1', 9000],
    ['the API on an address of its own', { HOST: '10.0.0.4' }, '10.0.0.4', 8080],
    ['the Postgres', {}, '10.0.0.1', 5432],
    ['the Postgres, IPv4 inside IPv6', {}, '::ffff:10.0.0.1', 5432],
    ['the same in hexadecimal', {}, '::ffff:a00:1', 5432],
    ['the second address of the Postgres', {}, 'fd00:0:0::1', 5432],
    ['a foreign name of the Postgres', {}, 'evil.example', 5432],
    ['the Postgres on another port', { DATABASE_URL: 'postgres://u:p@db.internal:6000/d' }, '10.0.0.1', 6000],
    ['the Postgres that a parameter names', { DATABASE_URL: 'postgres:///d?host=10.0.0.7' }, '10.0.0.7', 5432],
    ['a Postgres behind a socket', { DATABASE_URL: 'postgres:///d?host=/run/postgresql' }, '127.0.0.1', 5432],
    ['the Redis', { REDIS_URL: 'redis://cache.internal' }, '10.0.0.2', 6379],
    ['the Redis with TLS', { REDIS_URL: 'rediss://:p@[fd00::2]:6380/1' }, 'fd00::2', 6380],
    ['a Sentinel', { REDIS_URL: 'redis://x', REDIS_SENTINELS: 'a.internal:26379,b.internal' }, '10.0.0.4', 26379],
    ['the public URL', { PUBLIC_URL: 'https://front.internal' }, '10.0.0.5', 443],
    ['a server of OUTBOUND_DENY', { OUTBOUND_DENY: 'front.internal:9999' }, '10.0.0.5', 9999],
    ['an IPv6 server of OUTBOUND_DENY', { OUTBOUND_DENY: '[fd00::9]:80' }, 'fd00::9', 80],
    ['an address of OUTBOUND_DENY', { OUTBOUND_DENY: '8.8.8.8' }, '8.8.8.8', 53],
    ['a network of OUTBOUND_DENY', { OUTBOUND_DENY: '10.96.0.0/12, fd00::/8' }, '10.100.0.1', 1],
  ])('is refused: %s', async (_what, settings, host, port) => {
    const outbound = gateOf(settings, {
      'db.internal': ['10.0.0.1', 'fd00::1'],
      'evil.example': ['10.0.0.1'],
      'cache.internal': ['10.0.0.2'],
      'a.internal': ['10.0.0.3'],
      'b.internal': ['10.0.0.4'],
      'front.internal': ['10.0.0.5'],
    });

    await expect(reach(outbound, host, port)).rejects.toMatchObject(isOwn);
  });

  test('leaves the other ports and hosts', async () => {
    const outbound = gateOf(
      { OUTBOUND_DENY: 'api.internal:80', PUBLIC_URL: 'https://api.example' },
      { 'db.internal': ['10.0.0.1'], 'api.internal': ['10.0.0.5'], 'api.example': ['8.8.8.8'] },
    );

    for (const [host, port] of [
      ['127.0.0.1', 5432],
      ['10.0.0.1', 8080],
      ['10.0.0.2', 5432],
      ['10.0.0.5', 81],
      // A public address may be that of a proxy, which serves the hosts of other people as well.
      ['8.8.8.8', 443],
    ] as const)
      expect(await reach(outbound, host, port)).toEqual([host]);
  });

  test('is left out where a name has other addresses as well', async () => {
    const outbound = gateOf({}, { 'db.internal': ['10.0.0.1'], 'both.example': ['10.0.0.1', '10.0.0.2'] });

    expect(await reach(outbound, 'both.example', 5432)).toEqual(['10.0.0.2']);
  });

  test('is not told where OUTBOUND_ALLOW does not cover it', async () => {
    const outbound = gateOf({ OUTBOUND_ALLOW: '' }, { 'db.internal': ['10.0.0.1'] });

    await expect(reach(outbound, '10.0.0.1', 5432)).rejects.toMatchObject({
      message: '10.0.0.1 is neither a public address nor one that this deployment allows',
    });
  });

  test('is refused at its new address, and at the last known one while its name does not resolve', async () => {
    vi.useFakeTimers({ toFake: ['performance'] });
    try {
      const names: Record<string, string[]> = {};
      const outbound = gateOf({}, names);
      // Its address is unknown, so every private one could be its own.
      await expect(reach(outbound, '10.0.0.1', 5432)).rejects.toMatchObject(isOwn);
      expect(await reach(outbound, '8.8.8.8', 5432)).toEqual(['8.8.8.8']);

      names['db.internal'] = ['10.0.0.2'];
      vi.advanceTimersByTime(20_000);
      await expect(reach(outbound, '10.0.0.2', 5432)).rejects.toMatchObject(isOwn);
      expect(await reach(outbound, '10.0.0.1', 5432)).toEqual(['10.0.0.1']);

      delete names['db.internal'];
      vi.advanceTimersByTime(20_000);
      await expect(reach(outbound, '10.0.0.2', 5432)).rejects.toMatchObject(isOwn);
      expect(await reach(outbound, '10.0.0.1', 5432)).toEqual(['10.0.0.1']);
    } finally {
      vi.useRealTimers();
    }
  });
});

test.each(['example.com', 'example.com:0', 'example.com:65536', '10.0.0.0/33', '[10.0.0.1]:80', '::1:80:', 'a b:80'])(
  'OUTBOUND_DENY refuses %s',
  (item) => {
    expect(() => readConfig({ DATABASE_URL: 'postgres://u:p@h/d', OUTBOUND_DENY: item })).toThrow(
      `OUTBOUND_DENY: "${item}" must be`,
    );
  },
);
