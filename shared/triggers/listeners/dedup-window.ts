import type { JsonObject } from '../../core/json.ts';
import { webhook } from './types/webhook.ts';

/** Time for which a repeated event of a connection is recognized. Servers repeat what was not acknowledged soon after the next connection. */
export const DEDUP_SECONDS = 86_400;

/** Seconds within which two events of a listener with one key are the same; 0 if none are. */
export function dedupSecondsOf({
  listenerType,
  listenerConfig,
}: {
  listenerType: string;
  listenerConfig: JsonObject;
}): number {
  if (listenerType !== webhook.type) return DEDUP_SECONDS;
  const { dedupBy, dedupWindowMinutes } = webhook.config.parse(listenerConfig);
  return dedupBy === 'none' ? 0 : dedupWindowMinutes * 60;
}
