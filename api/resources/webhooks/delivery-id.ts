import { createHash, hash } from 'node:crypto';
import type { WebhookOptions } from '#shared/datasources/types/webhook.ts';
import type { NewEvent } from '#shared/triggers/listeners/event-recorder.ts';
import type { WebhookConfig } from '#shared/triggers/listeners/types/webhook.ts';
import { readField } from './json-field.ts';
import { type Delivery, type SignedParts, textOf } from './signatures.ts';

interface Settings {
  options: WebhookOptions;
  config: WebhookConfig;
  /** The parts that the signature of the delivery covers; null if it has none. */
  signed: SignedParts | null;
}

/** The key by which a delivery is compared with earlier ones of its listener; undefined if it is compared with none. */
export async function dedupOf(delivery: Delivery, settings: Settings): Promise<NewEvent['dedup']> {
  const found = await idOf(delivery, settings);
  const text = found?.id ?? '';
  if (!found || text === '') return undefined;
  return {
    key: text.length <= MAX_KEY && /^[\x20-\x7e]+$/.test(text) ? text : hash('sha256', text),
    bodyHash: hash('sha256', delivery.body),
    windowSeconds: found.isClaimed ? settings.config.dedupWindowMinutes * 60 : 0,
  };
}

const MAX_KEY = 128;

/** `isClaimed`: whether later deliveries with the id are duplicates. Otherwise the delivery is only compared with those that claimed it. */
interface DeliveryID {
  id: string | undefined;
  isClaimed: boolean;
}

async function idOf(delivery: Delivery, { options, config, signed }: Settings): Promise<DeliveryID | undefined> {
  const { dedupBy, dedupField } = config;
  const { headers, query, body } = delivery;
  if (dedupBy === 'none') return undefined;
  if (dedupBy === 'auto') return signed ? signedID(delivery, options, signed) : claimed(headers['idempotency-key']);
  if (dedupBy === 'body') return claimed(hash('sha256', body));
  return claimed(dedupBy === 'header' ? headers[dedupField.toLowerCase()] : (query.get(dedupField) ?? undefined));
}

function claimed(value: string | string[] | undefined): DeliveryID {
  return { id: textOf(value), isClaimed: true };
}

/**
 * The id that the signature covers, or else a digest of all that it covers. A header that is not signed is no id: the sender of a replay
 * chooses it. Of senders that are not known, only those that send ids expect equal deliveries to be one.
 */
async function signedID(delivery: Delivery, { authType }: WebhookOptions, signed: SignedParts): Promise<DeliveryID> {
  const own = (await ownIDs[authType]?.(delivery)) ?? '';
  const sendsIDs = authType !== 'hmac' || textOf(delivery.headers['idempotency-key']) !== '';
  return { id: own === '' ? digestOf(signed) : own, isClaimed: sendsIDs };
}

type OwnID = (delivery: Delivery) => string | Promise<string | undefined>;

/** Ids of providers that sign them. */
const ownIDs: Readonly<Partial<Record<WebhookOptions['authType'], OwnID>>> = {
  standard_webhooks: ({ headers }) => textOf(headers['webhook-id'] ?? headers['svix-id']),
  stripe: ({ body }) => readField(body, 'id'),
  slack: ({ body }) => readField(body, 'event_id'),
};

function digestOf(signed: SignedParts): string {
  const digest = createHash('sha256');
  for (const part of signed) digest.update(part);
  return digest.digest('hex');
}
