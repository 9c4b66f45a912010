import { z } from 'zod';
import { Json } from '#shared/core/json.ts';
import { idOf } from '#shared/core/schema/reference.ts';
import { exampleIDs } from '../../http/fields/example-ids.ts';
import { Flag } from '../../http/fields/flag.ts';
import { Message } from '../../http/fields/response-parts.ts';

const { eventID, listenerID } = exampleIDs;
const url = `https://hooks.example.com/webhooks/v1/inbound/${listenerID}`;

export const TestedListener = z.object({ listenerID: idOf('listener') });

const headerName = z
  .string()
  .min(1)
  .max(100)
  .regex(/^[\w!#$%&'*+.^`|~-]+$/, 'must be the name of a header');
const headerValue = z
  .string()
  .max(2_000)
  .regex(/^[\t\x20-\x7e]*$/, 'must be a text of one line');

export const TestDelivery = z
  .object({
    body: Json.optional().describe('JSON, or a text that is sent as it is. Default: an object with the time'),
    headers: z
      .record(headerName, headerValue)
      .default({})
      .describe('Further headers, such as X-GitHub-Event. Those that prove the sender are added')
      .refine((all) => Object.keys(all).length <= 20, 'expected at most 20 headers'),
  })
  .prefault({})
  .meta({ id: 'ListenerTestDelivery', examples: [{ body: { id: 7 }, headers: { 'x-github-event': 'push' } }] });

export const TestDeliveryQuery = z.object({
  preview: Flag.describe('Sends nothing: the answer has the command alone'),
});

export const TestDelivered = z
  .object({
    isAccepted: z.boolean(),
    status: z.int().nullable().describe('The status that the sender would get; null if nothing was sent'),
    answer: z.string().describe('The body that the sender would get, up to 10,000 characters'),
    eventID: z.uuid().nullable(),
    url: z.string(),
    curl: z.string().describe('Lines for a shell that send the same delivery, with a secret that is put in'),
    message: Message,
  })
  .meta({
    id: 'ListenerTestDelivered',
    examples: [
      {
        ...{ isAccepted: true, status: 200, answer: '{"success":true}', eventID, url },
        ...{ curl: `curl -i -X POST '${url}'`, message: 'The delivery was accepted' },
      },
    ],
  });
