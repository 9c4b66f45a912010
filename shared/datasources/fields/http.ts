import { z } from 'zod';
import { PairName } from '../../core/schema/pairs.ts';
import { secret } from '../../core/schema/secret.ts';
import { verifyWords } from './tls.ts';

/** A base URL: http or https, without parts that could be secrets. */
export const HTTPAddress = z
  .url({ protocol: /^https?$/, error: 'must be a URL that begins with http:// or https://' })
  .max(2_000)
  .refine((text) => {
    const url = URL.parse(text);
    return url === null || (url.username === '' && url.password === '');
  }, 'must not contain a user or a password: use the fields for them')
  .refine((text) => !text.includes('#'), 'must not contain a #');

/** The address of a WebSocket: ws or wss, without parts that could be secrets. */
export const WebSocketAddress = z
  .url({ protocol: /^wss?$/, error: 'must be a URL that begins with ws:// or wss://' })
  .max(2_000)
  .refine((text) => {
    const url = URL.parse(text);
    return url === null || (url.username === '' && url.password === '' && url.hash === '');
  }, 'must not contain a user, a password or a #');

/** Headers or parameters of a datasource. Values may be API keys, so all of them are secrets. */
export const SecretPairs = z
  .array(
    z.object({
      key: PairName,
      value: secret(z.string().max(8_000))
        .default('')
        .meta({ title: 'Value', description: 'What is sent. It is stored encrypted' }),
    }),
  )
  .max(50)
  .default([]);

export const ContentType = z.enum(['json', 'xml', 'text', 'form']);

export const basicUser = z.string().max(8_000).default('').meta({
  title: 'User',
  description: 'Name to sign in with',
});

export const basicPassword = secret(z.string().max(8_000)).default('').meta({
  title: 'Password',
  description: 'Password of the user. It is stored encrypted',
});

export const bearerToken = secret(z.string().max(8_000)).default('').meta({
  title: 'Bearer token',
  description: 'Sent as `Authorization: Bearer …`. It is stored encrypted',
});

export const apiKeyValue = secret(z.string().max(8_000)).default('').meta({
  title: 'Key',
  description: 'The key, as the API has issued it. It is stored encrypted',
});

export const sslVerify = z.boolean().default(true).meta(verifyWords);

export const timeout = z
  .number()
  .min(1)
  .max(300)
  .default(30)
  .meta({ title: 'Time limit of a request (s)', description: 'Seconds after which a request without an answer fails' });
