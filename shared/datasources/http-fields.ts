import { z } from 'zod';
import { Json } from '../json.ts';
import { secret } from '../secret.ts';

/** A base URL: http or https, without parts that could be secrets. */
export const HTTPAddress = z
  .url({ protocol: /^https?$/, error: 'must be a URL that begins with http:// or https://' })
  .max(2_000)
  .refine((text) => {
    const url = URL.parse(text);
    return url === null || (url.username === '' && url.password === '');
  }, 'must not contain a user or a password: use the fields for them')
  .refine((text) => !text.includes('#'), 'must not contain a #');

/** Headers or parameters of a datasource. Values may be API keys, so all of them are secrets. */
export const SecretPairs = z
  .array(z.object({ key: z.string().min(1).max(200), value: secret(z.string().max(8_000)).default('') }))
  .max(50)
  .default([]);

/** Headers or parameters of a query. */
export const Pairs = z
  .array(z.object({ key: z.string().min(1).max(200), value: Json.default('') }))
  .max(50)
  .default([]);

export const ContentType = z.enum(['json', 'xml', 'text', 'form']);

export const sslVerify = z
  .boolean()
  .default(true)
  .meta({ title: 'Verify certificates', description: 'If off, any certificate is accepted, also that of an attacker' });

export const timeout = z.number().min(1).max(300).default(30).meta({ title: 'Timeout of a request (s)' });
