import { AppError } from '#shared/core/errors.ts';
import type { Json } from '#shared/core/json.ts';

/** Replies of the driver: bulk strings as bytes, integers as text, since a double cannot hold all of them. */
export type Reply = Buffer | string | null | Reply[];

const strict = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/** Converts a reply to JSON: integers to numbers, bytes to text, or to base64 if asked for. */
export function written(reply: Reply, encoding: 'text' | 'base64'): Json {
  if (reply === null) return null;
  if (typeof reply === 'string') return numberOf(reply);
  if (Array.isArray(reply)) return reply.map((item) => written(item, encoding));
  return encoding === 'base64' ? reply.toString('base64') : textOf(reply);
}

export function textOf(reply: Reply | undefined): string {
  if (!Buffer.isBuffer(reply)) return String(reply);
  try {
    return strict.decode(reply);
  } catch (cause) {
    throw new AppError('DB_ERROR', 'What is stored there is no text; it can be read as base64', { cause });
  }
}

/** Converts an integer reply; a status such as OK stays text. */
function numberOf(text: string): Json {
  const number = Number(text);
  return /^-?\d+$/.test(text) && Number.isSafeInteger(number) ? number : text;
}

export function listed(reply: Reply | undefined): Reply[] {
  return Array.isArray(reply) ? reply : [];
}

export function sizeOf(reply: Reply | undefined): number {
  if (Array.isArray(reply)) return reply.reduce<number>((sum, item) => sum + sizeOf(item), 8);
  return Buffer.isBuffer(reply) ? reply.length : 8;
}
