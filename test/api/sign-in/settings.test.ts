import { describe, expect, test } from 'vitest';
import { readConfig } from '#shared/process/config.ts';
import { testSecurity } from '#test/support/environment.ts';

const env = { DATABASE_URL: 'postgres://x@localhost/x', SECRETS_KEYS: testSecurity.SECRETS_KEYS, AUTH: 'builtin' };
const PUBLIC_URL = 'https://gantry.example.com';

describe('AUTH=builtin', () => {
  test('is the issuer below the public address, also in production', () => {
    const { auth } = readConfig({ ...env, PUBLIC_URL, NODE_ENV: 'production' });

    expect(auth).toMatchObject({ isBuiltIn: true, issuer: `${PUBLIC_URL}/sign-in`, audience: 'gantry' });
  });

  test('is off as soon as AUTH_ISSUER is set', () => {
    const provider = { AUTH_ISSUER: 'https://login.example.com/', AUTH_AUDIENCE: 'console' };

    const { auth } = readConfig({ ...env, ...provider, NODE_ENV: 'production' });

    expect(auth).toMatchObject({ isBuiltIn: false, issuer: provider.AUTH_ISSUER, audience: 'console' });
  });

  test.each([
    ['without an address', {}, 'PUBLIC_URL is required with AUTH=builtin'],
    ['at an address without https', { PUBLIC_URL: 'http://gantry.example.com' }, 'PUBLIC_URL must begin with https://'],
    [
      'at a name that begins as a loopback one',
      { PUBLIC_URL: 'http://127.0.0.1.evil.example' },
      'PUBLIC_URL must begin',
    ],
    ['without a key', { PUBLIC_URL, SECRETS_KEYS: '' }, 'SECRETS_KEYS is required with AUTH=builtin'],
    [
      'with half of the mail',
      { PUBLIC_URL, SMTP_URL: 'smtp://mail.example.com' },
      'SMTP_URL and MAIL_FROM go together',
    ],
    ['beside the development issuer', { PUBLIC_URL, DEV_ISSUER_KEY_FILE: 'x' }, 'DEV_ISSUER_KEY_FILE and AUTH=builtin'],
    ['under another name', { PUBLIC_URL, AUTH: 'built-in' }, 'AUTH: expected "builtin"'],
  ])('is refused %s', (_what, settings, says) => {
    expect(() => readConfig({ ...env, ...settings })).toThrow(says);
  });
});
