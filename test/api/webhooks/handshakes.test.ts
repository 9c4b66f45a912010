import { createHmac } from 'node:crypto';
import { expect, test } from 'vitest';
import { isSignedToken, signedHandshakeOf, unsignedHandshakeOf } from '#api/resources/webhooks/handshakes.ts';
import type { Delivery } from '#api/resources/webhooks/signatures.ts';
import { type WebhookOptions, webhook } from '#shared/datasources/types/webhook.ts';

interface Request {
  method?: string;
  query?: string;
  headers?: Record<string, string>;
  body?: string;
}

function deliveryOf({ method = 'GET', query = '', headers = {}, body = '' }: Request): Delivery {
  const url = `https://a.example/hook?${query}`;
  return { method, headers, body: Buffer.from(body), url, query: new URLSearchParams(query) };
}

const read = (options: Partial<WebhookOptions>) => webhook.options.parse({ authSecret: 'the secret', ...options });
const unsigned = (options: Partial<WebhookOptions>, request: Request) =>
  unsignedHandshakeOf(deliveryOf(request), read(options));
const signed = (options: Partial<WebhookOptions>, request: Request) =>
  signedHandshakeOf(deliveryOf(request), read(options));
const hmac = (text: string, encoding: 'hex' | 'base64') =>
  createHmac('sha256', 'the secret').update(text).digest(encoding);

test('every provider gets the answer that it documents', () => {
  const zoom = JSON.stringify({ event: 'endpoint.url_validation', payload: { plainToken: 'qgg8vlvZRS6UYooatFL8Aw' } });
  const challenge = { status: 200, body: 'c' };
  const cases: [Partial<WebhookOptions>, Request, object][] = [
    [
      { handshake: 'meta', verifyToken: 't' },
      { query: 'hub.mode=subscribe&hub.challenge=c&hub.verify_token=t' },
      challenge,
    ],
    [{ handshake: 'meta', verifyToken: 't' }, { query: 'hub.mode=subscribe&hub.challenge=c' }, { status: 403 }],
    [{ handshake: 'websub' }, { query: 'hub.mode=unsubscribe&hub.topic=x&hub.challenge=c' }, challenge],
    [{ handshake: 'websub' }, { query: 'hub.mode=denied&hub.topic=x&hub.reason=no' }, { status: 200, body: '' }],
    [
      { handshake: 'websub', verifyToken: 't' },
      { query: 'hub.mode=subscribe&hub.challenge=c&hub.verify_token=u' },
      { status: 403 },
    ],
    [
      { handshake: 'zoom' },
      { method: 'POST', body: zoom },
      {
        status: 200,
        body: { plainToken: 'qgg8vlvZRS6UYooatFL8Aw', encryptedToken: hmac('qgg8vlvZRS6UYooatFL8Aw', 'hex') },
      },
    ],
    [{ handshake: 'x' }, { query: 'crc_token=c' }, { body: { response_token: `sha256=${hmac('c', 'base64')}` } }],
    [{ handshake: 'microsoft_graph' }, { method: 'POST', query: 'validationToken=c' }, challenge],
    [{ handshake: 'dropbox' }, { query: 'challenge=c' }, challenge],
    [
      { handshake: 'okta' },
      { headers: { 'x-okta-verification-challenge': 'c' } },
      { status: 200, body: { verification: 'c' } },
    ],
    [{ handshake: 'trello' }, { method: 'HEAD' }, { status: 200, body: '' }],
    [{ handshake: 'custom' }, { query: 'challenge=c' }, challenge],
    [
      { handshake: 'custom', handshakeField: 'hub.challenge', handshakeAnswer: '{"hub.challenge":"{challenge}"}' },
      { query: 'hub.challenge=a"b' },
      { body: '{"hub.challenge":"a\\"b"}', headers: { 'content-type': 'application/json; charset=utf-8' } },
    ],
    [
      { handshake: 'custom', handshakeFrom: 'header', handshakeField: 'X-Hook-Secret', handshakeAnswer: '{hmac}' },
      { method: 'POST', headers: { 'x-hook-secret': 'c' } },
      { body: hmac('c', 'hex') },
    ],
    [
      { handshake: 'custom', verifyToken: 't', handshakeTokenField: 'token' },
      { query: 'challenge=c&token=u' },
      { status: 403 },
    ],
  ];
  for (const [options, request, expected] of cases)
    expect(unsigned(options, request), JSON.stringify([options, request])).toMatchObject(expected);

  expect(
    signed(
      { handshake: 'twitch', authType: 'hmac' },
      {
        method: 'POST',
        headers: { 'twitch-eventsub-message-type': 'webhook_callback_verification' },
        body: '{"challenge":"c"}',
      },
    ),
  ).toMatchObject(challenge);
  const nested = { handshake: 'custom', handshakeFrom: 'body', handshakeField: 'payload.challenge' } as const;
  expect(signed(nested, { method: 'POST', body: '{"payload":{"challenge":"c"}}' })).toMatchObject(challenge);
  expect(signed({ authType: 'slack' }, { body: '{"type":"url_verification","challenge":"c"}' })).toMatchObject(
    challenge,
  );
});

test('other requests of these senders are deliveries', () => {
  const others: [Partial<WebhookOptions>, Request][] = [
    [{ handshake: 'none' }, { query: 'hub.mode=subscribe&hub.challenge=c&crc_token=c&validationToken=c' }],
    [
      { handshake: 'meta', verifyToken: 't' },
      { method: 'POST', query: 'hub.mode=subscribe&hub.challenge=c&hub.verify_token=t' },
    ],
    [{ handshake: 'zoom' }, { method: 'POST', body: '{"event":"meeting.started","payload":{"plainToken":"c"}}' }],
    [{ handshake: 'x' }, { method: 'POST', query: 'crc_token=c' }],
    [{ handshake: 'dropbox' }, { method: 'POST', query: 'challenge=c' }],
    [{ handshake: 'twitch' }, { method: 'POST', body: '{"challenge":"c"}' }],
    [{ handshake: 'okta' }, { method: 'POST', headers: { 'x-okta-verification-challenge': 'c' } }],
    [{ handshake: 'trello' }, { method: 'GET' }],
    [
      { handshake: 'custom', handshakeFrom: 'body' },
      { method: 'POST', body: '{"challenge":"c"}' },
    ],
  ];
  for (const [options, request] of others)
    expect(unsigned(options, request), JSON.stringify([options, request])).toBeUndefined();
  for (const body of ['{"challenge":"c"}', '{"type":"url_verification"}', 'no JSON'])
    expect(signed({ authType: 'slack', handshake: 'twitch' }, { method: 'POST', body })).toBeUndefined();
});

test('no stranger gets the signature of a delivery, nor of what a delivery could be', () => {
  for (const token of ['{"forged":true}', 'v0:1700000000:{}', 'amount=999', 'a&b', 'a b', ''])
    for (const [options, request] of [
      [{ handshake: 'x' }, { query: `crc_token=${encodeURIComponent(token)}` }],
      [
        { handshake: 'zoom' },
        {
          method: 'POST',
          body: JSON.stringify({ event: 'endpoint.url_validation', payload: { plainToken: token } }),
        },
      ],
      [{ handshake: 'custom', handshakeAnswer: '{hmac}' }, { query: `challenge=${encodeURIComponent(token)}` }],
    ] as [Partial<WebhookOptions>, Request][])
      expect(unsigned(options, request), JSON.stringify([options, request])).toMatchObject({ status: 403 });
  const delivered = (body: string, handshake: WebhookOptions['handshake']) =>
    isSignedToken(deliveryOf({ method: 'POST', body }), read({ handshake }));
  expect([delivered('true', 'x'), delivered('12', 'zoom'), delivered('{}', 'x'), delivered('true', 'dropbox')]).toEqual(
    [true, true, false, false],
  );
});

test('a handshake names the options that it needs', () => {
  const faultsOf = (options: object) =>
    webhook.options.safeParse(options).error?.issues.map(({ path }) => path.join('.')) ?? [];
  expect(faultsOf({ handshake: 'meta' })).toEqual(['verifyToken']);
  for (const handshake of ['x', 'zoom']) expect(faultsOf({ handshake })).toEqual(['authSecret']);
  expect(faultsOf({ handshake: 'custom', verifyToken: 't' })).toEqual(['handshakeTokenField']);
  expect(faultsOf({ handshake: 'custom', handshakeAnswer: '{hmac}', handshakeField: '' })).toEqual([
    'authSecret',
    'handshakeField',
  ]);
  for (const handshake of ['none', 'websub', 'microsoft_graph', 'dropbox', 'twitch', 'okta', 'trello', 'custom'])
    expect(faultsOf({ handshake })).toEqual([]);
});
