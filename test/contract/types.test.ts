import { expect, test } from 'vitest';
import { z } from 'zod';
import type { ApiContext } from '#api/context/context.ts';
import { publicRoute, tenantRoute } from '#api/context/routes.ts';
import { TENANT_PREFIX, type TenantRouteDefinition } from '#api/http/route/route.ts';
import { JsonObject } from '#shared/core/json.ts';
import type { Producer } from '#shared/messaging/producer.ts';
import type { AnyQueue } from '#shared/messaging/queues/index.ts';
import { workflowRuns } from '#shared/messaging/queues/workflow-runs.ts';
import { defineNode } from '#shared/workflow/nodes/define-node.ts';
import type { end } from '#shared/workflow/nodes/kinds/end.ts';
import type { javascript } from '#shared/workflow/nodes/kinds/javascript.ts';
import type { Executor } from '#workers/nodes/executor.ts';
import type { Processor } from '#workers/processors/consume.ts';

const Answer = z.object({ id: z.string() });
const Nothing = z.undefined();
type Route<Path extends string = '/x'> = TenantRouteDefinition<
  ApiContext,
  Path,
  typeof Nothing,
  typeof Nothing,
  typeof Nothing,
  typeof Answer
>;
const nameless = { method: 'get', path: '/x', summary: '', description: '', response: Answer } as const;
const shapes = { ...nameless, name: 'getX' } as const;
const handle = async () => ({ id: 'x' });
const byID = { ...shapes, path: '/things/:thingID/parts', permission: 'workflow.read', handle } as const;
const posted = { ...shapes, method: 'post', permission: 'workflow.read', handle } as const;

/** Must compile: each way to declare the object that a path with an id is about. */
const accepted: Route<'/things/:thingID/parts'>[] = [
  { ...byID, object: () => 'workflow:1' },
  { ...shapes, path: byID.path, handle, access: () => [{ permission: 'workflow.read', object: 'workflow:1' }] },
  { ...byID, filter: true },
  { ...byID, onWholeType: true },
];

const Title = z.object({ title: z.string().default('') });
const Naming = z.object({ workflowID: z.uuid().optional() });
const Call = Naming.extend({ dataQueryIDs: z.array(z.uuid()).optional() });
const NamingDeeply = z.object({ calls: z.array(Call).default([]), free: JsonObject.default({}) });
const executing = { permission: 'workflow.execute', neededBy: 'caller' } as const;
const kind = {
  kind: 'x',
  label: '',
  exits: ['success'],
  usualExit: 'success',
  pure: false,
  clocked: true,
  timeoutSeconds: 1,
  defaultValue: {},
} as const;

/** Must not compile. Each line fails `npm run check` once the compiler accepts it. */
const refused = {
  // @ts-expect-error a tenant route without a permission
  withoutPermission: (): Route => ({ ...shapes, handle }),

  // @ts-expect-error a tenant route without the name that clients know it by
  withoutName: (): Route => ({ ...nameless, permission: 'workflow.read', handle }),

  // @ts-expect-error a permission that is not in the catalogue
  unknownPermission: (): Route => ({ ...shapes, permission: 'workflow.fly', handle }),

  // @ts-expect-error an answer that its schema does not allow
  wrongAnswer: (): Route => ({ ...shapes, permission: 'workflow.read', handle: async () => ({ id: 1 }) }),

  // @ts-expect-error a path with an id, and nothing that says which object the permission is about
  withoutObject: (): Route<'/things/:thingID/parts'> => byID,

  // @ts-expect-error the same with an object that is undefined
  undefinedObject: (): Route<'/things/:thingID/parts'> => ({ ...byID, object: undefined }),

  // @ts-expect-error the same with a name that a full stop ends
  idBeforeFullStop: (): Route<'/things/:thingID.json'> => ({ ...byID, path: '/things/:thingID.json' }),

  // @ts-expect-error the same with two names between slashes
  idBeforeHyphen: (): Route<'/things/:thingID-:x'> => ({ ...byID, path: '/things/:thingID-:x' }),

  // @ts-expect-error the same with the id at the end of the path
  withoutObjectAtTheEnd: (): Route<'/things/:thingID'> => ({ ...byID, path: '/things/:thingID' }),

  // @ts-expect-error the same with a path that is not a literal
  withoutObjectOfAnyPath: (path: string): Route<string> => ({ ...byID, path }),

  // @ts-expect-error a POST that does not say whether it is idempotent
  withoutIdempotency: (): Route => posted,

  // @ts-expect-error another method that takes an idempotency key
  idempotentRead: (): Route => ({ ...shapes, permission: 'workflow.read', handle, idempotent: 'transaction' }),

  // @ts-expect-error a route without a caller whose idempotency key it could be
  idempotentStranger: () => publicRoute({ ...shapes, method: 'post', idempotent: 'outside', handle }),

  // @ts-expect-error a payload of another shape
  wrongPayload: (producer: Producer) => producer.enqueue(workflowRuns, [{ instanceID: 1 }]),

  // @ts-expect-error a queue without a processor
  missingProcessor: (): { [D in AnyQueue as D['name']]: Processor<D> } => ({}),

  // @ts-expect-error a node leaving by an exit its kind does not declare
  undeclaredExit: (): Executor<typeof javascript> => async () => ({ output: {}, exit: 'sideways' }),

  // @ts-expect-error a node leaving by none though its kind ends no branch
  noExit: (): Executor<typeof javascript> => async () => ({ output: {}, exit: null }),

  // @ts-expect-error an end whose output does not say how the run ends
  endWithoutStatus: (): Executor<typeof end> => async () => ({ output: { workflowOutput: {} }, exit: null }),

  // @ts-expect-error a usual exit that is none of the kind's exits
  unknownUsualExit: () => defineNode({ ...kind, config: Title, names: {}, usualExit: 'sideways' }),

  // @ts-expect-error a kind that does not say which assets its config names
  undeclaredAsset: () => defineNode({ ...kind, config: Naming, names: {} }),

  // @ts-expect-error the same of ids in a list
  undeclaredAssets: () => defineNode({ ...kind, config: NamingDeeply, names: { 'calls.*.workflowID': executing } }),

  unknownAssetPermission: () =>
    // @ts-expect-error an asset named with a permission that is not in the catalogue
    defineNode({ ...kind, config: Naming, names: { workflowID: { ...executing, permission: 'workflow.fly' } } }),

  // @ts-expect-error a field wanting templates that the config does not have
  unknownTemplated: () => defineNode({ ...kind, config: Title, names: {}, templated: ['titel'] }),
};

test('a kind that declares the assets of its config compiles', () => {
  const names = { 'calls.*.workflowID': executing, 'calls.*.dataQueryIDs.*': executing };
  expect(defineNode({ ...kind, config: NamingDeeply, names }).names).toBe(names);
  expect(defineNode({ ...kind, config: Naming, names: { workflowID: executing } }).kind).toBe('x');
  expect(defineNode({ ...kind, config: Title, names: {} }).kind).toBe('x');
});

test('the cases that must not compile have been read by the compiler', () => {
  expect(Object.keys(refused)).toHaveLength(23);
  expect(tenantRoute({ ...shapes, permission: 'workflow.read', handle }).realm).toBe('tenant');
  expect(accepted.map((route) => tenantRoute(route).path)).toEqual(accepted.map(() => TENANT_PREFIX + byID.path));
});
