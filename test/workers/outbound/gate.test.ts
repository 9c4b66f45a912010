import { expect, test } from 'vitest';
import { readConfig } from '#shared/config.ts';
import { createOutbound, type Outbound } from '#workers/outbound/gate.ts';

const outboundWith = (OUTBOUND_ALLOW: string) =>
  createOutbound(readConfig({ DATABASE_URL: 'postgres://u:p@h/d', OUTBOUND_ALLOW }).outbound);
const closed = outboundWith('');
const resolve = (outbound: Outbound, host: string) => outbound.resolve(host, AbortSignal.timeout(10_000));

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
  await expect(closed.resolve('localhost', AbortSignal.abort(new Error('enough')))).rejects.toThrow('enough');
});

test.each(['10.0.0.0/33', 'example.com', '10.0.0.0/8/8', '10.0.0.0/', '::1/129', '10.0.0.0/x'])(
  'OUTBOUND_ALLOW refuses %s',
  (item) => {
    expect(() => outboundWith(item)).toThrow(`OUTBOUND_ALLOW: "${item}" must be`);
  },
);
