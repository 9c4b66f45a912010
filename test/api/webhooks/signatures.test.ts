import { createHmac, hash } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { calledURL } from '#api/resources/webhooks/called-url.ts';
import { dedupOf } from '#api/resources/webhooks/delivery-id.ts';
import { type Delivery, proofOf } from '#api/resources/webhooks/signatures.ts';
import { type WebhookOptions, webhook } from '#shared/datasources/types/webhook.ts';
import { webhook as listener } from '#shared/triggers/listeners/types/webhook.ts';

interface Example {
  options: Partial<WebhookOptions> & Pick<WebhookOptions, 'authType'>;
  headers?: Record<string, string>;
  body?: string;
  url?: string;
  /** Seconds since 1970. */
  at?: number;
}

const slackBody =
  'token=xyzz0WbapA4vBCDEFasx0q6G&team_id=T1DC2JH3J&team_domain=testteamnow&channel_id=G8PSS9T3V&channel_name=foobar&user_id=U2CERLKJA&user_name=roadrunner&command=%2Fwebhook-collect&text=&response_url=https%3A%2F%2Fhooks.slack.com%2Fcommands%2FT1DC2JH3J%2F397700885554%2F96rGlfmibIGlgcZRskXaIFfN&trigger_id=398738663015.47445629121.803a0bc887a14d10d2c447fce8b6703c';

const secret = 'whsec_the secret of an endpoint';
const stripeBody = '{"id":"evt_1MqqbKLt4dXK03v5qaIbiNCC","object":"event","type":"payment_intent.succeeded"}';
const hmac = (algorithm: string, key: string | Buffer, text: string, encoding: 'hex' | 'base64' = 'hex') =>
  createHmac(algorithm, key).update(text).digest(encoding);

/** Signatures as providers document them; those whose documentation has none are made as it says. */
const examples: Record<string, Example> = {
  'GitHub, as documented': {
    options: { authType: 'github', authSecret: "It's a Secret to Everybody" },
    headers: { 'x-hub-signature-256': 'sha256=757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17' },
    body: 'Hello, World!',
  },
  'Slack, as documented': {
    options: { authType: 'slack', authSecret: '8f742231b10e8888abcd99yyyzzz85a5' },
    headers: {
      'x-slack-request-timestamp': '1531420618',
      'x-slack-signature': 'v0=a2114d57b48eac39b9ad189dd8316235a7b4a8d21a10bd27519666489c69b503',
    },
    body: slackBody,
    at: 1_531_420_700,
  },
  'Standard Webhooks, as documented': {
    options: { authType: 'standard_webhooks', authSecret: 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw' },
    headers: {
      'webhook-id': 'msg_p5jXN8AQM9LWM0D4loKWxJek',
      'webhook-timestamp': '1614265330',
      'webhook-signature': 'v1a,other v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=',
    },
    body: '{"test": 2432232314}',
    at: 1_614_265_400,
  },
  'Twilio, as documented': {
    options: { authType: 'twilio', authSecret: '12345' },
    headers: {
      'content-type': 'application/x-www-form-urlencoded; charset=utf-8',
      'x-twilio-signature': 'RSOYDt4T1cUTdK1PDd93/VVr8B8=',
    },
    url: 'https://mycompany.com/myapp.php?foo=1&bar=2',
    body: 'To=%2B18005551212&Digits=1234&From=%2B14158675309&Caller=%2B14158675309&CallSid=CA1234567890ABCDE',
  },
  'Stripe, while a secret is rolled': {
    options: { authType: 'stripe', authSecret: secret },
    headers: {
      'stripe-signature': `t=1614265330,v1=${'0'.repeat(64)},v1=${hmac('sha256', secret, `1614265330.${stripeBody}`)},v0=1`,
    },
    body: stripeBody,
    at: 1_614_265_330,
  },
  Shopify: {
    options: { authType: 'shopify', authSecret: secret },
    headers: { 'x-shopify-hmac-sha256': hmac('sha256', secret, '{"id":1}', 'base64') },
    body: '{"id":1}',
  },
  'Twilio with JSON': {
    options: { authType: 'twilio', authSecret: '12345' },
    headers: {
      'content-type': 'application/json',
      'x-twilio-signature': hmac(
        'sha1',
        '12345',
        `https://a.example/?bodySHA256=${hash('sha256', '{"a":1}')}`,
        'base64',
      ),
    },
    url: `https://a.example/?bodySHA256=${hash('sha256', '{"a":1}')}`,
    body: '{"a":1}',
  },
  'Standard Webhooks by Svix': {
    options: { authType: 'standard_webhooks', authSecret: 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw' },
    headers: {
      'svix-id': 'msg_p5jXN8AQM9LWM0D4loKWxJek',
      'svix-timestamp': '1614265330',
      'svix-signature': 'v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=',
    },
    body: '{"test": 2432232314}',
    at: 1_614_265_400,
  },
  'HMAC of the body': {
    options: {
      authType: 'hmac',
      authSecret: secret,
      algorithm: 'sha512',
      signatureEncoding: 'base64',
      signaturePrefix: 'v=',
    },
    headers: { 'x-signature': `v=${hmac('sha512', secret, 'text', 'base64')}` },
    body: 'text',
  },
  'HMAC of method, address, a header and the body': {
    options: { authType: 'hmac', authSecret: secret, signedContent: '{method}|{url}|{header:X-Id}|{body}' },
    headers: {
      'x-id': 'i',
      'x-signature': hmac('sha256', secret, 'POST|https://a.example/hook?a=1|i|text'),
    },
    url: 'https://a.example/hook?a=1',
    body: 'text',
  },
  'HMAC with a time of RFC 3339': {
    options: {
      authType: 'hmac',
      authSecret: secret,
      timestampHeader: 'X-Time',
      signedContent: '{timestamp}{body}',
    },
    headers: {
      'x-time': '2021-02-25T15:02:10.634234626Z',
      'x-signature': hmac('sha256', secret, '2021-02-25T15:02:10.634234626Ztext'),
    },
    body: 'text',
    at: 1_614_265_330,
  },
  'HMAC with a time in milliseconds': {
    options: {
      authType: 'hmac',
      authSecret: secret,
      timestampHeader: 'X-Time',
      signedContent: 'v1:{timestamp}:{body}',
    },
    headers: { 'x-time': '1614265330000', 'x-signature': hmac('sha256', secret, 'v1:1614265330000:text') },
    body: 'text',
    at: 1_614_265_330,
  },
};

function read({ options, headers = {}, body = '', url = 'https://a.example/hook', at = 0 }: Example) {
  const delivery: Delivery = {
    method: 'POST',
    headers,
    body: Buffer.from(body),
    url,
    query: new URLSearchParams(url.split('?')[1]),
  };
  return { delivery, options: webhook.options.parse(options), now: at * 1000 };
}

function accepts(example: Example): boolean {
  const { delivery, options, now } = read(example);
  return proofOf(delivery, options, now).fault === null;
}

describe.each(Object.entries(examples))('%s', (_name, example) => {
  test('verifies, also by the previous secret, and with one changed byte it does not', () => {
    expect(accepts(example)).toBe(true);
    const { body = '', headers = {}, options } = example;
    const rotated = { ...options, authSecret: 'another', previousSecret: options.authSecret ?? '' };
    expect(accepts({ ...example, options: rotated })).toBe(true);
    expect(accepts({ ...example, options: { ...options, authSecret: 'another' } })).toBe(false);
    const at = Math.floor(body.length / 2);
    const flipped = body.slice(0, at) + String.fromCharCode(body.charCodeAt(at) ^ 1) + body.slice(at + 1);
    expect(accepts({ ...example, body: flipped })).toBe(false);
    for (const name of Object.keys(headers).filter((key) => key !== 'content-type')) {
      const { [name]: _left, ...others } = headers;
      expect(accepts({ ...example, headers: others }), `without ${name}`).toBe(false);
      expect(accepts({ ...example, headers: { ...headers, [name]: '' } }), `${name} empty`).toBe(false);
    }
  });

  test('is accepted only near its time, if it has one', () => {
    const { at } = example;
    if (at === undefined) return;
    const signedAt = Number(/\b1\d{9}/.exec(JSON.stringify(example.headers))?.[0] ?? at);
    for (const [seconds, isIn] of [
      [-299, true],
      [299, true],
      [-302, false],
      [302, false],
      [1e6, false],
    ] as const)
      expect(accepts({ ...example, at: signedAt + seconds }), `${seconds} s`).toBe(isIn);
  });
});

test('plain credentials are accepted as they are, and by the previous one', () => {
  const basic = (text: string) => ({ authorization: `Basic ${Buffer.from(text).toString('base64')}` });
  const cases: [Example, Example[]][] = [
    [
      { options: { authType: 'basic', username: 'u', password: 'p:w' }, headers: basic('u:p:w') },
      [{ options: { authType: 'basic', username: 'u', password: 'p:w' }, headers: basic('u:p') }],
    ],
    [
      {
        options: { authType: 'bearer', bearerToken: 'b', previousSecret: 'a' },
        headers: { authorization: 'bearer a' },
      },
      [{ options: { authType: 'bearer', bearerToken: 'b' }, headers: { authorization: 'Basic b' } }],
    ],
    [
      { options: { authType: 'header', authSecret: 's' }, headers: { 'x-api-key': 's' } },
      [
        { options: { authType: 'header', authSecret: 's' } },
        { options: { authType: 'header', authSecret: 's', authHeaderName: 'X-Own' }, headers: { 'x-api-key': 's' } },
      ],
    ],
    [
      { options: { authType: 'query_param', authSecret: 's' }, url: 'https://a.example/?api_key=s' },
      [{ options: { authType: 'query_param', authSecret: 's' }, url: 'https://a.example/?api_key=S' }],
    ],
    [
      { options: { authType: 'gitlab', authSecret: 's' }, headers: { 'x-gitlab-token': 's' } },
      [{ options: { authType: 'gitlab', authSecret: 's' }, headers: { 'x-gitlab-token': 'ss' } }],
    ],
  ];
  for (const [right, wrong] of cases) {
    expect(accepts(right), right.options.authType).toBe(true);
    for (const one of wrong) expect(accepts(one), one.options.authType).toBe(false);
  }
});

const twilio = { authType: 'twilio', authSecret: '12345' } as const;
const signedByTwilio = (url: string, parts = '') => ({
  'x-twilio-signature': hmac('sha1', '12345', url + parts, 'base64'),
});

test('a signature of parts of the delivery must cover the body', () => {
  const faultsOf = (signedContent: string, timestampHeader = '') => {
    const options = { authType: 'hmac', authSecret: 's', signedContent, timestampHeader };
    return webhook.options.safeParse(options).error?.issues.map(({ path }) => path.join('.')) ?? [];
  };

  expect([faultsOf('{url}'), faultsOf('{timestamp}', 'x-time'), faultsOf('{header:X-Id}.{method}')]).toEqual(
    Array(3).fill(['signedContent']),
  );
  expect([faultsOf('{url}{body}'), faultsOf('{timestamp}{body}', 'x-time'), faultsOf('text')]).toEqual([[], [], []]);
});

test('the signature of Twilio covers the address that was called, and no other', () => {
  const url = 'https://a.example/webhooks/v1/inbound/t/tw/1?amount=1';
  const headers = signedByTwilio(url);
  expect(accepts({ options: twilio, headers, url })).toBe(true);
  for (const other of [url.replace('tw/1', 'tw/999'), url.replace('=1', '=999'), `${url}&b=1`, url.slice(0, -9)])
    expect(accepts({ options: twilio, headers, url: other }), other).toBe(false);
  for (const [signed, called, isRight] of [
    ['https://a.example:443/x', 'https://a.example/x', true],
    ['https://a.example/x', 'https://a.example:8443/x', true],
    ['https://a.example:8443/x', 'https://a.example/x', false],
  ] as const)
    expect(accepts({ options: twilio, headers: signedByTwilio(signed), url: called }), signed).toBe(isRight);
});

test('repeated fields of a form are signed as Twilio signs them, and no body is left unsigned', () => {
  const form = { 'content-type': 'Application/X-WWW-Form-Urlencoded; charset=utf-8' };
  const url = 'https://a.example/hook';
  const repeated = { ...form, ...signedByTwilio(url, 'A1A2B0') };
  expect(accepts({ options: twilio, headers: repeated, url, body: 'B=0&A=2&A=1&A=2' })).toBe(true);
  expect(accepts({ options: twilio, headers: repeated, url, body: 'B=0&A=2&A=3' })).toBe(false);
  expect(accepts({ options: twilio, headers: signedByTwilio(url), url })).toBe(true);
  for (const type of ['application/json', 'text/plain', 'application/x-www-form-urlencoded-not', ''])
    expect(
      accepts({ options: twilio, headers: { 'content-type': type, ...signedByTwilio(url) }, url, body: '{"a":1}' }),
      type,
    ).toBe(false);
});

test('the address at the sender is the public origin and prefix with path and query as received', () => {
  const request = { protocol: 'http', host: 'pod:8080', originalUrl: '/webhooks/v1/inbound/t/tw/%31?a=1&a=%C3%A9?b' };
  const at = (publicUrl: string, deployment?: string) => calledURL(request, { publicUrl }, deployment);
  expect(at('')).toBe(`http://pod:8080${request.originalUrl}`);
  expect(at('', 'https://api.example')).toBe(`https://api.example${request.originalUrl}`);
  expect(at('https://a.example/', 'https://api.example')).toBe(`https://a.example${request.originalUrl}`);
  expect(at('https://a.example/pre/fix/?x=1#y')).toBe(`https://a.example/pre/fix${request.originalUrl}`);
  expect(at('https://a.example/pre/webhooks/v1/inbound/t/tw/999?a=2')).toBe(
    `https://a.example/pre${request.originalUrl}`,
  );
});

test('the id of a delivery is what its sender has signed', async () => {
  const dedup = (example: Example) => {
    const { delivery, options, now } = read(example);
    const proof = proofOf(delivery, options, now);
    if (proof.fault !== null) throw new Error(proof.fault);
    return dedupOf(delivery, { options, config: listener.config.parse({}), signed: proof.signed });
  };
  const id = (name: string, more: Record<string, string> = {}, body?: string) => {
    const example = examples[name] ?? { options: { authType: 'none' } };
    return dedup({ ...example, headers: { ...example.headers, ...more }, ...(body !== undefined && { body }) });
  };
  expect((await id('Stripe, while a secret is rolled', { 'idempotency-key': 'invented' }))?.key).toBe(
    'evt_1MqqbKLt4dXK03v5qaIbiNCC',
  );
  expect((await id('Standard Webhooks, as documented'))?.key).toBe('msg_p5jXN8AQM9LWM0D4loKWxJek');
  expect((await id('Standard Webhooks by Svix'))?.key).toBe('msg_p5jXN8AQM9LWM0D4loKWxJek');
  // No signature covers these headers: the sender of a replay can invent them.
  for (const [name, header] of [
    ['GitHub, as documented', 'x-github-delivery'],
    ['Shopify', 'x-shopify-webhook-id'],
    ['Twilio, as documented', 'i-twilio-idempotency-token'],
    ['Slack, as documented', 'idempotency-key'],
  ] as const) {
    const found = await id(name, { [header]: 'one' });
    expect(found).toMatchObject({ key: expect.stringMatching(/^[\da-f]{64}$/), windowSeconds: 86_400 });
    expect([await id(name, { [header]: 'two' }), await id(name)], name).toEqual([found, found]);
  }
  const sent = await id('HMAC of the body', { 'idempotency-key': 'one' });
  expect(sent).toMatchObject({ key: expect.stringMatching(/^[\da-f]{64}$/), windowSeconds: 86_400 });
  expect(await id('HMAC of the body', { 'idempotency-key': 'two' })).toEqual(sent);
  // Equal deliveries of a sender that sends no ids are several, unless one of them had an id.
  expect(await id('HMAC of the body')).toEqual({ ...sent, windowSeconds: 0 });

  const plain = (headers: Record<string, string>) => dedup({ options: { authType: 'none' }, headers, body: 'a' });
  expect(await plain({ 'x-github-delivery': 'd' })).toBeUndefined();
  expect(await plain({ 'idempotency-key': 'k' })).toMatchObject({ key: 'k', windowSeconds: 86_400 });
});
