import { z } from 'zod';
import { namedEnum } from '../../../core/schema/enum-names.ts';
import { OutputVariable, waiting } from '../common.ts';
import { defineNode } from '../define-node.ts';
import { neededExits } from '../exits.ts';

/**
 * Waits for an event of this name with this key, which `POST T/workflows/events` sends. An event that came before
 * is delivered too, if it is still stored and not older than `lookbackMinutes`.
 */
export const waitForEvent = defineNode({
  kind: 'waitForEvent',
  label: 'Wait for event',
  config: z.object({
    ...waiting,
    eventName: z
      .string()
      .min(1)
      .max(255)
      .meta({ title: 'Event', description: 'Its name, as the other system sends it, such as order.paid' }),
    // Empty is refused, because a template that is empty by mistake would wait for the events of others.
    eventKey: z
      .union([z.string().min(1).max(255), z.number()])
      .optional()
      .meta({
        title: 'Key',
        description:
          'The order or the customer that the event is about, nearly always a template: only events with the same key count. Without it, events for this run: their key is its `instanceID`, as that of inputs of widgets',
      }),
    lookbackMinutes: z.number().min(0).max(10_080).default(60).meta({
      title: 'Looks back (min)',
      description: 'How many minutes old an event may be that came before the step; 0: only events from then on',
    }),
    expiryMinutes: z
      .number()
      .min(0)
      .max(525_600)
      .default(60)
      .meta({ title: 'Expires after (min)', description: 'Minutes for which it waits; 0: for ever' }),
    onTimeout: namedEnum({ expired: 'Go on by the exit “expired”', fail: 'Fail' })
      .default('expired')
      .meta({ title: 'Without an event in time', description: 'Once the wait has expired' }),
    outputVariable: OutputVariable('event'),
  }),
  names: {},
  exits: ['received', 'expired', 'error'],
  usualExit: 'received',
  // A failure must not count as an event.
  failedExit: 'expired',
  needsEdge: neededExits.waitForEvent,
  pure: false,
  clocked: false,
  templated: ['eventKey'],
  timeoutSeconds: 60,
  defaultValue: {
    title: 'Wait for event',
    eventName: 'order.paid',
    eventKey: '{{ctx.input.orderID}}',
    expiryMinutes: 60,
  },
});
