import { io } from 'socket.io-client';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { newID } from '#shared/core/ids.ts';
import { type Cluster, startCluster } from '#test/support/cluster.ts';
import { anOperator, aTenant } from '#test/support/factories.ts';

let cluster: Cluster;
let token: string;
beforeAll(async () => {
  cluster = await startCluster({ workers: false });
  ({ token } = await anOperator(cluster));
});
afterAll(() => cluster[Symbol.asyncDispose]());

function open(of: string) {
  const socket = io(`${cluster.baseURL}/operator`, { auth: { token: of }, transports: ['websocket'], forceNew: true });
  return Object.assign(socket, { [Symbol.dispose]: () => void socket.disconnect() });
}

const next = (socket: ReturnType<typeof open>, event: string) =>
  // biome-ignore lint/suspicious/noExplicitAny: a test reads what it expects
  new Promise<any>((resolve) => socket.once(event, resolve));

test('an operator in the room is told the fleet at once, and again when a run waits', async () => {
  using socket = open(token);
  const first = next(socket, 'fleet_update');
  expect(await socket.emitWithAck('join_room', 'fleet')).toEqual({ success: true, room: 'fleet' });
  expect((await first).backlog.rows).toEqual([]);

  const tenant = await aTenant(cluster);
  await aRun(tenant.id);
  const told = await expect
    .poll(() => next(socket, 'fleet_update'))
    .toMatchObject({ backlog: { rows: [{ queue: 'workflow.runs', count: 1 }] } })
    .then(() => next(socket, 'fleet_update'));

  expect(told.tenants.rows).toMatchObject([{ tenantID: tenant.id, waiting: 1 }]);
});

test('the room of a tenant is told why its runs wait', async () => {
  const tenant = await aTenant(cluster);
  await aRun(tenant.id);
  using socket = open(token);
  const told = next(socket, 'fleet_tenant_update');

  expect(await socket.emitWithAck('join_room', `fleet:${tenant.id}`)).toMatchObject({ success: true });

  expect(await told).toMatchObject({ tenantID: tenant.id, runs: [{ reason: { code: 'no-worker' } }] });
  expect(await socket.emitWithAck('join_room', `fleet:${newID()}`)).toMatchObject({ error: { code: 'NOT_FOUND' } });
  expect(await socket.emitWithAck('join_room', 'tenant:x')).toMatchObject({ error: { code: 'VALIDATION_ERROR' } });
});

test('a user is refused, and an operator whose session ends is disconnected', async () => {
  const { creator } = await aTenant(cluster);
  using ofUser = open(await cluster.tokenFor(creator));
  expect((await next(ofUser, 'connect_error')).data.code).toBe('USER_AUTH_TOKEN_NOT_FOUND');

  const operator = await anOperator(cluster);
  using socket = open(operator.token);
  await socket.emitWithAck('join_room', 'fleet');
  const left = next(socket, 'disconnect');
  await cluster.pool.query('update operator_session set revoked_at = now() where operator_id = $1', [operator.id]);

  expect(await left).toBe('io server disconnect');
});

function aRun(tenantID: string) {
  return cluster.pool.query(
    `insert into workflow_instance (id, tenant_id, version_id, deadline_at, ready_at, caller)
     values ($1, $2, $1, now() + interval '1 hour', now(), '{}')`,
    [newID(), tenantID],
  );
}
