import { z } from 'zod';
import { namesIn } from '../names-in.ts';
import { orderBy } from '../order-key.ts';
import { defineListener } from './define-listener.ts';

/** Messages of topics. */
export const mqtt = defineListener({
  type: 'mqtt',
  label: 'MQTT',
  hasEndpoint: false,
  config: z.object({
    orderBy,
    topics: z
      .string()
      .max(10_000)
      .refine((text) => namesIn(text).length > 0, 'expected a topic')
      .refine((text) => namesIn(text).every(isFilter), 'must use + and # for whole levels only, and # only at the end')
      .meta({
        title: 'Topics',
        description: 'Such as sensors/+/temperature, alarms/#; + stands for one level, # for all that follow',
      }),
    qos: z
      .union([z.literal(0), z.literal(1), z.literal(2)])
      .default(0)
      .meta({
        title: 'Quality of service (QoS)',
        description:
          '0: only what is published meanwhile. 1 and 2: the broker keeps messages until they are stored, also while the listener is not connected',
      }),
  }),
  defaults: { topics: 'events/#', qos: 1 },
});

function isFilter(text: string): boolean {
  const levels = text.split('/');
  return levels.every(
    (level, at) => !/[+#\p{Cc}]/u.test(level) || level === '+' || (level === '#' && at === levels.length - 1),
  );
}
