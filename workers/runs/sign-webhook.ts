import { createHmac } from 'node:crypto';

/** Lengths of a key in bytes, by the specification. */
const KEY = { min: 24, max: 64 };

interface Signed {
  /** The same for every attempt to deliver the message. */
  id: string;
  /** Seconds since 1970 of this attempt. */
  timestamp: number;
  body: string;
}

/** The header `webhook-signature` of a message: https://www.standardwebhooks.com. */
export function signWebhook(key: Buffer, { id, timestamp, body }: Signed): string {
  return `v1,${createHmac('sha256', key).update(`${id}.${timestamp}.${body}`).digest('base64')}`;
}

/** The key in a secret: base64, which receivers' libraries expect behind `whsec_`. Undefined if the text is no such secret. */
export function webhookKeyOf(secret: string): Buffer | undefined {
  const text = secret.trim().replace(/^whsec_/, '');
  if (!/^[A-Za-z0-9+/]+={0,2}$/.test(text)) return undefined;
  const key = Buffer.from(text, 'base64');
  return key.length >= KEY.min && key.length <= KEY.max ? key : undefined;
}
