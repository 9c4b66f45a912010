import { expect, test } from 'vitest';
import { signWebhook, webhookKeyOf } from '#workers/runs/sign-webhook.ts';

const secret = 'MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw';

test.each([`whsec_${secret}`, secret])(
  'the published test vector has the published signature, with the key %s',
  (text) => {
    const message = { id: 'msg_p5jXN8AQM9LWM0D4loKWxJek', timestamp: 1_614_265_330, body: '{"test": 2432232314}' };

    expect(signWebhook(webhookKeyOf(text) ?? Buffer.alloc(0), message)).toBe(
      'v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=',
    );
  },
);

test.each([
  ['no base64', 'whsec_not base64 at all, is it'],
  ['empty', ''],
  ['too short', `whsec_${Buffer.alloc(23, 1).toString('base64')}`],
  ['too long', `whsec_${Buffer.alloc(65, 1).toString('base64')}`],
])('a secret that is %s is no key', (_what, text) => {
  expect(webhookKeyOf(text)).toBeUndefined();
});
