import { z } from 'zod';
import { Json } from '../../../core/json.ts';
import { namedEnum } from '../../../core/schema/enum-names.ts';
import { shownFor } from '../../../core/schema/shown-for.ts';
import { orderBy } from '../order-key.ts';
import { defineListener } from './define-listener.ts';

/** A week, which is the retention of events. */
const MAX_WINDOW_MINUTES = 10_080;

/** Deliveries to an address of this service. How they prove where they come from is an option of the datasource. */
export const webhook = defineListener({
  type: 'webhook',
  label: 'Webhook',
  hasEndpoint: true,
  config: z.object({
    answerMode: namedEnum({ ack: 'At once', result: 'With the result of the workflow' }).default('ack').meta({
      title: 'Answer',
      description:
        'When the sender gets it: when the delivery is stored, or when the workflow that it starts has ended',
    }),
    responseStatusCode: z
      .int()
      .min(200)
      .max(299)
      .default(200)
      .meta({ title: 'Status of the answer', description: 'Senders repeat a delivery after any other status' }),
    responseBody: Json.optional().meta({
      title: 'Body of the answer',
      description: 'JSON, or a text. Default: the ids of the listener and of the event',
    }),
    resultTimeoutSeconds: z
      .number()
      .min(1)
      .max(60)
      .default(30)
      .meta({
        ...shownFor({ answerMode: ['result'] }),
        title: 'Wait for the result (s)',
        description: 'The answer is 202 if the workflow takes longer',
      }),
    dedupBy: namedEnum({
      auto: 'By what is signed',
      none: 'None',
      header: 'By a header',
      query: 'By a parameter',
      body: 'By equal bodies',
    })
      .default('auto')
      .meta({
        title: 'Duplicates',
        description:
          'What makes two deliveries one. By what is signed: the id that the sender signs, or all that it signs; without a signature the header Idempotency-Key',
      }),
    dedupField: z
      .string()
      .max(100)
      .default('')
      .meta({
        ...shownFor({ dedupBy: ['header', 'query'] }),
        title: 'Header or parameter with the id',
        description: 'Its name, such as X-Delivery-Id',
      }),
    dedupWindowMinutes: z
      .number()
      .min(1)
      .max(MAX_WINDOW_MINUTES)
      .default(1_440)
      .meta({
        ...shownFor({ dedupBy: ['auto', 'header', 'query', 'body'] }),
        title: 'Duplicates within (min)',
        description: 'A delivery with the same id counts as new after it',
      }),
    orderBy,
    maxBodyBytes: z.int().min(1).max(100_000_000).optional().meta({
      title: 'Largest body (bytes)',
      description: 'At most the limit of this deployment, which is the default',
    }),
  }),
  defaults: {},
});
export type WebhookConfig = z.output<(typeof webhook)['config']>;
