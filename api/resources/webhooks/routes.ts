import { z } from 'zod';
import { publicRoute } from '../../context/routes.ts';
import { exampleIDs } from '../../http/fields/example-ids.ts';
import { Message } from '../../http/fields/response-parts.ts';
import { activeListeners } from './health.ts';
import { receiveDelivery } from './receive.ts';
import { sendTestDelivery } from './test-delivery.ts';

const Segment = z.string().max(2_000);

/** The usual response. The handler sends it itself, because the config of a listener may contain another. */
const WebhookAnswer = z
  .object({
    message: Message.optional(),
    listenerID: z.uuid().optional(),
    eventID: z.uuid().optional(),
    duplicateOf: z.uuid().optional().describe('The event of an earlier delivery with the same id'),
    instanceID: z.uuid().optional().describe('The run that the sender waited for'),
  })
  .meta({
    id: 'WebhookAnswer',
    description: 'What senders get unless the listener says otherwise',
    examples: [{ message: 'Event received', listenerID: exampleIDs.listenerID, eventID: exampleIDs.eventID }],
  });

const delivery = {
  method: 'post',
  idempotent: false,
  takesAnyQuery: true,
  response: WebhookAnswer,
  errors: ['401', '404', '429'],
} as const;

/** The contract names POST alone. Other methods are received as well if the datasource allows them: see `otherMethods`. */
export const webhookRoutes = [
  sendTestDelivery,
  publicRoute({
    ...delivery,
    name: 'receiveWebhook',
    path: '/webhooks/v1/inbound/:tenantID/:pathSuffix',
    summary: 'Deliver a webhook by its path',
    description:
      'Stores a delivery for the active listener of the tenant whose `endpointPath` matches, and answers when it is stored. The body is taken as it is. What the sender has to prove, and how it is answered, is up to the listener. Paths may have several parts.',
    params: z.object({ tenantID: Segment, pathSuffix: Segment }),

    async handle({ request, response }, context) {
      await receiveDelivery(request, response, context);
      return {};
    },
  }),

  publicRoute({
    ...delivery,
    name: 'receiveListenerWebhook',
    path: '/webhooks/v1/inbound/:listenerID',
    summary: 'Deliver a webhook by the id of its listener',
    description: 'The same by the id of the listener, which may have no path.',
    params: z.object({ listenerID: Segment }),

    async handle({ request, response }, context) {
      await receiveDelivery(request, response, context);
      return {};
    },
  }),

  publicRoute({
    method: 'get',
    name: 'getWebhookHealth',
    path: '/webhooks/health',
    summary: 'Get the health of webhook intake',
    description: 'Returns the number of active listeners of the deployment, at most ten seconds old.',
    response: z.object({
      status: z.literal('ok'),
      service: z.string().meta({ examples: ['webhook-receiver'] }),
      activeListeners: z.int().meta({ examples: [12] }),
      timestamp: z.iso.datetime().meta({ examples: ['2026-03-05T14:05:12.480Z'] }),
    }),

    async handle(_input, { pool }) {
      const timestamp = new Date().toISOString();
      return {
        status: 'ok' as const,
        service: 'webhook-receiver',
        activeListeners: await activeListeners(pool),
        timestamp,
      };
    },
  }),
];
