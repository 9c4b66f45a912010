import { expect, test } from 'vitest';
import { z } from 'zod';
import { type TenantRouteDefinition, tenantRoute } from '#api/http/route.ts';
import type { javascript } from '#shared/nodes/javascript.ts';
import type { Producer } from '#shared/producer.ts';
import type { AnyQueue } from '#shared/queues/index.ts';
import { workflowRuns } from '#shared/queues/workflow-runs.ts';
import type { Executor } from '#workers/nodes/executor.ts';
import type { Processor } from '#workers/processors/consume.ts';

const Answer = z.object({ id: z.string() });
const Nothing = z.undefined();
type Route = TenantRouteDefinition<typeof Nothing, typeof Nothing, typeof Nothing, typeof Answer>;
const shapes = { method: 'get', path: '/x', summary: '', response: Answer } as const;
const handle = async () => ({ id: 'x' });

/** What must not compile. Each line fails `npm run check` the day that the compiler no longer objects to it. */
const refused = {
  // @ts-expect-error a tenant route without a permission
  withoutPermission: (): Route => ({ ...shapes, handle }),

  // @ts-expect-error a permission that is not in the catalogue
  unknownPermission: (): Route => ({ ...shapes, permission: 'workflow.fly', handle }),

  // @ts-expect-error an answer that its schema does not allow
  wrongAnswer: (): Route => ({ ...shapes, permission: 'workflow.read', handle: async () => ({ id: 1 }) }),

  // @ts-expect-error a payload of another shape
  wrongPayload: (producer: Producer) => producer.enqueue(workflowRuns, [{ instanceID: 1 }]),

  // @ts-expect-error a queue without a processor
  missingProcessor: (): { [D in AnyQueue as D['name']]: Processor<D> } => ({}),

  // @ts-expect-error a node leaving by an exit its kind does not declare
  undeclaredExit: (): Executor<typeof javascript> => async () => ({ output: {}, exit: 'sideways' }),
};

test('what must not compile is a list that the compiler has read', () => {
  expect(Object.keys(refused)).toHaveLength(6);
  expect(tenantRoute({ ...shapes, permission: 'workflow.read', handle }).realm).toBe('tenant');
});
