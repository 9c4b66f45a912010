import { AppError } from '#shared/core/errors.ts';
import { isUnreadableSecret } from '#shared/core/key-ring.ts';
import type { WebhookOptions } from '#shared/datasources/types/webhook.ts';
import type { ReadListener } from '#shared/triggers/listeners/listener-reader.ts';

/** The options of the datasource. 503 and not the 409 of other requests: the sender shall send it again. */
export function openOptions(listener: ReadListener): WebhookOptions {
  try {
    // Safe: this is what the type's own schema has parsed.
    return listener.options() as WebhookOptions;
  } catch (error) {
    if (!isUnreadableSecret(error)) throw error;
    const message =
      "This listener cannot check deliveries: its datasource's secret was sealed with a key that is not here";
    throw new AppError('UNAVAILABLE', message, { cause: error, retryAfter: 60 });
  }
}
