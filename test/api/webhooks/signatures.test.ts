import { createHmac, hash } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { type Delivery, deliveryIDOf, faultOf } from '#api/resources/webhooks/signatures.ts';
import { type WebhookOptions, webhook } from '#shared/datasources/types/webhook.ts';

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
    options: { authType: 'twilio', authSecret: '12345', publicUrl: '' },
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
  return faultOf(delivery, options, now) === null;
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
    const signedAt = Number(/\d{10}/.exec(JSON.stringify(example.headers))?.[0]);
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

test('the id of a delivery is the one that its provider repeats', () => {
  const idOf = (example: Example) => {
    const { delivery, options } = read(example);
    return deliveryIDOf(delivery, options);
  };
  const needed = { authSecret: 's' };
  expect(idOf({ options: { authType: 'github', ...needed }, headers: { 'x-github-delivery': 'd' } })).toBe('d');
  expect(idOf({ options: { authType: 'stripe', ...needed }, body: stripeBody })).toBe('evt_1MqqbKLt4dXK03v5qaIbiNCC');
  expect(idOf({ options: { authType: 'slack', ...needed }, body: '{"event_id":"Ev1"}' })).toBe('Ev1');
  expect(idOf({ options: { authType: 'slack', ...needed }, body: 'command=a' })).toBeUndefined();
  expect(idOf({ options: { authType: 'none' }, headers: { 'x-github-delivery': 'd' } })).toBeUndefined();
  for (const [authType, header] of [
    ['standard_webhooks', 'webhook-id'],
    ['standard_webhooks', 'svix-id'],
    ['shopify', 'x-shopify-webhook-id'],
    ['twilio', 'i-twilio-idempotency-token'],
  ] as const)
    expect(idOf({ options: { authType, ...needed }, headers: { [header]: 'd' } }), header).toBe('d');
});

test('a delivery whose header Host makes no URL is refused', () => {
  const options = { authType: 'twilio', authSecret: '12345', publicUrl: 'https://a.example/hook' } as const;
  const headers = { 'x-twilio-signature': hmac('sha1', '12345', 'https://a.example/hook', 'base64') };
  expect(accepts({ options, headers })).toBe(true);
  expect(accepts({ options, headers, url: 'http://[/hook' })).toBe(false);
});
