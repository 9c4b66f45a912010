import { z } from 'zod';
import { exampleIDs } from '../../http/fields/example-ids.ts';

const { eventID, listenerID } = exampleIDs;

const Refusal = z
  .object({
    refusalID: z.uuid(),
    refusedAt: z.iso.datetime(),
    status: z.int().describe('The status of the answer'),
    code: z.string(),
    reason: z.string(),
    address: z.string().nullable().describe('The network address of the sender'),
    method: z.string(),
    path: z.string(),
    parameters: z.array(z.string()).describe('Names of parameters of the query'),
    headers: z
      .array(z.tuple([z.string(), z.string()]))
      .describe('Values that may be secret are masked, and signatures are cut'),
    bodyStart: z
      .string()
      .nullable()
      .describe('The first 2 kB of the body, if it was read; bytes that are no UTF-8 are replaced'),
    bodyBytes: z.int().nullable(),
    omitted: z.int().describe('Refusals before this one that were not recorded, because there were too many'),
  })
  .meta({
    id: 'ListenerRefusal',
    examples: [
      {
        ...{ refusalID: eventID, refusedAt: '2026-03-05T14:05:12.480Z', status: 401, code: 'INVALID_REQUEST' },
        reason: 'This delivery is refused: the signature is wrong',
        ...{ address: '203.0.113.7', method: 'POST', path: `/webhooks/v1/inbound/${listenerID}`, parameters: [] },
        headers: [['x-hub-signature-256', 'sha256=0f3a2…'] as [string, string]],
        ...{ bodyStart: '{"action":"opened"}', bodyBytes: 19, omitted: 0 },
      },
    ],
  });

export const Refusals = z.object({ refusals: z.array(Refusal) }).meta({ id: 'ListenerRefusals' });
