import { expect, test } from 'vitest';
import { maskSecrets } from '#shared/core/schema/secret.ts';
import { webhook } from '#shared/datasources/types/webhook.ts';
import { openDatasource } from '#test/support/connector.ts';

test('there is no server to reach, and no query', async () => {
  await using opened = await openDatasource(webhook, {});

  await opened.test();
  await expect(opened.execute({})).rejects.toMatchObject({ code: 'VALIDATION_ERROR' });
});

test('an authentication needs its secret, and secrets are masked', () => {
  const needs = Object.entries({ basic: 'password', bearer: 'bearerToken', hmac: 'authSecret', stripe: 'authSecret' });
  for (const [authType, field] of needs) {
    expect(webhook.options.safeParse({ authType }).error?.issues[0]?.path, authType).toEqual([field]);
    const options = { authType, [field]: 'a secret', previousSecret: 'an older one' };
    const parsed = webhook.options.parse(options);
    const masked = JSON.stringify(maskSecrets(webhook.options, parsed));
    expect(masked).not.toContain('a secret');
    expect(masked).not.toContain('an older one');
  }
  expect(webhook.options.safeParse({}).data).toMatchObject({ authType: 'none', allowedMethods: 'POST' });
});
