import { z } from 'zod';

const exampleWaitReason = {
  code: 'workflow-limit' as const,
  message: '12 runs are ahead; the limit of the workflow is 10 at once',
  position: 13,
  estimateSeconds: 90,
};

const AwaitedEvent = z
  .object({ name: z.string(), key: z.string() })
  .meta({ id: 'AwaitedEvent', description: 'The event that a node waits for' });

const wait = {
  reason: z.enum(['delay', 'input', 'event', 'child', 'no-worker', 'queue']),
  until: z.iso.datetime().optional(),
  nodeID: z.string().optional().describe('The node that waits'),
  collectionRequestID: z.uuid().optional(),
  event: AwaitedEvent.optional(),
};

export const Waiting = z
  .object({
    ...wait,
    others: z
      .array(z.object(wait).meta({ id: 'WaitOfNode', description: 'Why a node waits, and until when' }))
      .optional()
      .describe('Further nodes that wait, up to 100; absent: there are none'),
  })
  .meta({ id: 'WaitingReason', description: 'Why a run waits, and until when' });

export const WaitReason = z
  .object({
    code: z.enum([
      'tenant-limit',
      'workflow-limit',
      'key-limit',
      'rate-limit',
      'no-worker',
      'paused',
      'delay',
      'input',
      'event',
      'child',
      'queue',
    ]),
    message: z.string(),
    until: z.iso.datetime().optional().describe('When the wait ends, if nothing ends it before'),
    position: z.int().nullable().describe('In its line, from 1; 0 if it has been handed to the workers'),
    estimateSeconds: z.int().nullable().describe('Null if it cannot be told'),
  })
  .meta({ id: 'WaitReason', description: 'Why a run is not running', examples: [exampleWaitReason] });
