import { expect, test } from 'vitest';
import { Caller } from '#shared/caller.ts';
import type { QueueDefinition } from '#shared/queues/define-queue.ts';
import { type QueueName, queues } from '#shared/queues/index.ts';

const ask = {
  askID: '01976e1c-0000-7000-8000-000000000001',
  replyTo: 'asks.0123456789abcdef',
  deadline: 1_795_000_000_000,
  sealed: 'gs1.k1.AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA',
};

/** Jobs as processes of every earlier version have written them. Lines are only ever added. */
const frozen: { [Name in QueueName]: unknown[] } = {
  'workflow.runs': [{ instanceID: '01976e1c-0000-7000-8000-000000000001', epoch: 1 }],
  'datasource.tests': [ask],
  'datasource.metadata': [ask],
  'query.runs': [ask],
  'tenant.database': [ask],
  'oauth.exchange': [ask],
};

const callers = [
  {
    type: 'user',
    id: '01976e1c-0000-7000-8000-000000000001',
    userID: '01976e1c-0000-7000-8000-000000000001',
    origin: 'direct',
  },
  {
    type: 'system',
    id: '01976e1c-0000-7000-8000-000000000001',
    origin: 'workflow',
    originID: '01976e1c-0000-7000-8000-000000000002',
  },
];

test.each(queues.flatMap((queue) => frozen[queue.name].map((payload) => ({ queue, payload }))))(
  'a job of $queue.name that was ever written is still understood',
  ({ queue, payload }) => {
    expect(() => queue.payload.parse(payload)).not.toThrow();
  },
);

test.each(callers)('a caller that was ever stored is still understood: $type', (caller) => {
  expect(Caller.parse(caller)).toEqual(caller);
});

test('every queue has a frozen sample, and its jobs have ids that BullMQ accepts', () => {
  for (const queue of queues as readonly QueueDefinition[]) {
    const samples = frozen[queue.name as QueueName];
    expect(samples.length).toBeGreaterThan(0);
    expect(queue.name).not.toContain(':');
    for (const payload of samples) expect(queue.jobID?.(queue.payload.parse(payload)) ?? '').not.toContain(':');
  }
});
