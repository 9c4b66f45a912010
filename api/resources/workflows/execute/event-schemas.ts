import { z } from 'zod';
import { Json } from '#shared/core/json.ts';

const Name = z.string().min(1).max(255);

const MAX_DATA_LENGTH = 1024 * 1024;

export const WorkflowEvent = z
  .object({
    name: Name.describe('What has happened, as `eventName` of the nodes that wait for it'),
    key: z
      .union([Name, z.number()])
      .describe('To what it has happened: an order, a customer. As `eventKey` of the nodes'),
    data: Json.default(null).refine((data) => JSON.stringify(data).length <= MAX_DATA_LENGTH, {
      message: 'expected at most 1,048,576 characters of JSON',
    }),
    rememberMinutes: z
      .number()
      .min(0)
      .max(10_080)
      .default(60)
      .describe('How long nodes that begin to wait later take it as well; 0: not at all'),
  })
  .meta({
    id: 'WorkflowEvent',
    examples: [{ name: 'order.paid', key: 'order-42', data: { amount: 99.5 }, rememberMinutes: 60 }],
  });

const Reached = z.object({ instanceID: z.uuid(), workflowID: z.uuid().nullable() }).meta({ id: 'ReachedRun' });

export const EventSent = z
  .object({
    eventID: z.uuid(),
    reached: z.int().describe('The number of runs that it has reached'),
    runs: z.array(Reached).describe('The first 1,000 of them'),
  })
  .meta({
    id: 'WorkflowEventSent',
    examples: [
      {
        eventID: '0199f0c2-5b1e-7c4f-9d1a-2f6f0a1b2c3d',
        reached: 1,
        runs: [
          {
            instanceID: '0199f0c2-5b1e-7c4f-9d1a-2f6f0a1b2c3e',
            workflowID: '0199f0c2-5b1e-7c4f-9d1a-2f6f0a1b2c3f',
          },
        ],
      },
    ],
  });
