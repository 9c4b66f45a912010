import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type AuditTrail, createAuditTrail } from '#api/audit/trail.ts';
import { wholeEntry } from '#shared/access/audit/records.ts';
import { newID } from '#shared/core/ids.ts';
import type { Producer } from '#shared/messaging/producer.ts';
import { type Cluster, startCluster } from '../../../support/cluster.ts';
import { aCronJob, aCronScheduler } from '../../../support/cron.ts';
import { testLogger } from '../../../support/environment.ts';
import {
  aListener,
  aMember,
  anOperator,
  aRole,
  aTenant,
  aWorkflow,
  type TestTenant,
} from '../../../support/factories.ts';
import { eventually } from '../../../support/settle.ts';

/** Actions in a tenant without a request of its members. */
let cluster: Cluster;
beforeAll(async () => {
  cluster = await startCluster({
    workers: ['audit.entries', 'listener.events'],
    settings: { AUDIT_BUFFER_SECONDS: '0.05' },
  });
});
afterAll(() => cluster[Symbol.asyncDispose]());

interface Log {
  auditLogID: string;
  subType: string;
  outcome: string;
  userID: string | null;
  path: string | null;
  asset: { type: string; id: string } | null;
  changes: { assetType: string; changes: Record<string, unknown> }[];
  metadata: Record<string, unknown>;
}

async function logs(of: TestTenant, query: string): Promise<Log[]> {
  return (await cluster.as(of.creator).in(of).get(`T/audit?pageSize=100&${query}`)).body.auditLogs;
}

async function logsOnceThere(of: TestTenant, query: string, count: number): Promise<Log[]> {
  let found: Log[] = [];
  await eventually(async () => {
    found = await logs(of, query);
    expect(found).toHaveLength(count);
  });
  // Entries of two batches may be stored in another order.
  return found.sort((one, other) => (one.auditLogID < other.auditLogID ? 1 : -1));
}

test('fifty entries are sent at once, fewer wait for their time, and the end of the process leaves none', async () => {
  const { id: tenantID } = await aTenant(cluster);
  const { pool, context } = cluster;
  const open = (producer: Pick<Producer, 'enqueue'>) =>
    createAuditTrail({ pool, producer, flushMs: 3_600_000, logger: testLogger });
  const note = (trail: AuditTrail, count: number) => {
    for (let n = 0; n < count; n += 1)
      trail.note(wholeEntry({ tenantID, type: 'SOCKET_ACTION', action: 'join', details: {} }));
  };
  const rows = async () => (await pool.query('select from audit_record where tenant_id = $1', [tenantID])).rowCount;
  const trail = open(context.messaging.producer);
  note(trail, 49);
  await sleep(300);
  const before = await rows();
  note(trail, 2);
  await eventually(async () => expect(await rows()).toBe(51));
  note(trail, 1);
  await trail[Symbol.asyncDispose]();
  await eventually(async () => expect(await rows()).toBe(52));

  const withoutQueue = open({ enqueue: () => Promise.reject(new Error('The queue is away')) });
  note(withoutQueue, 5_001);
  await withoutQueue[Symbol.asyncDispose]();

  expect(before).toBe(0);
  expect(withoutQueue.counts).toMatchObject({ noted: 5_001, lost: 1 });
  expect(await rows()).toBe(5_052);
});

test('a delivery and the run that it starts are in the trail of the listener’s tenant', async () => {
  const tenant = await aTenant(cluster);
  const workflow = await aWorkflow(cluster, { tenant });
  const actions = [{ actionType: 'trigger_workflow', actionConfig: { workflowID: workflow.id } }];
  const listener = await aListener(cluster, { tenant, actions });
  const answer = await fetch(`${cluster.baseURL}/webhooks/v1/inbound/${listener.id}`, {
    method: 'POST',
    body: '{"a":1}',
  });
  const { eventID } = (await answer.json()) as { eventID: string };

  const [delivery] = await logsOnceThere(tenant, 'type=WEBHOOK_DELIVERY', 1);
  expect(delivery).toMatchObject({
    auditLogID: eventID,
    subType: 'webhook',
    outcome: 'success',
    userID: null,
    asset: { type: 'listener', id: listener.id },
    metadata: { count: 1, duplicates: 0, bytes: 7, eventIDs: [eventID] },
  });
  const [start] = await logsOnceThere(tenant, `type=RUN_START&assetID=${workflow.id}`, 1);
  const { rows } = await cluster.pool.query<{ id: string }>('select id from workflow_instance where tenant_id = $1', [
    tenant.id,
  ]);
  expect(start).toMatchObject({
    subType: 'listener',
    userID: tenant.creator.id,
    metadata: { instanceID: rows[0]?.id, originID: listener.id },
  });
});

test('events of one statement share an entry for each listener, and duplicates are counted', async () => {
  const tenant = await aTenant(cluster);
  const [one, other] = [await aListener(cluster, { tenant }), await aListener(cluster, { tenant })];
  const { recorder } = cluster.context.runs.ingestion;
  const event = (listener: { id: string }, source: string) => ({
    id: newID(),
    tenantID: tenant.id,
    listenerID: listener.id,
    source,
    body: Buffer.from('12345'),
  });
  const dedup = { key: 'same', bodyHash: '00', windowSeconds: 60 };
  const many = Array.from({ length: 60 }, () => event(one, 'webhook'));
  const recorded = [...many, { ...event(other, 'mqtt'), dedup }, { ...event(other, 'mqtt'), dedup }];
  await Promise.all(recorded.map((each) => recorder.record(each)));

  const [deliveries] = await logsOnceThere(tenant, `type=WEBHOOK_DELIVERY&assetID=${one.id}`, 1);
  expect(deliveries?.metadata).toMatchObject({ count: 60, duplicates: 0, bytes: 300 });
  expect(deliveries?.metadata.eventIDs).toEqual(many.slice(0, 50).map(({ id }) => id));
  const [events] = await logsOnceThere(tenant, 'type=LISTENER_EVENT', 1);
  expect(events).toMatchObject({ subType: 'mqtt', metadata: { count: 2, duplicates: 1 } });
});

test('a tick and its run are in the trail, and a tick that was skipped with the reason', async () => {
  const tenant = await aTenant(cluster);
  const { id: workflowID } = await aWorkflow(cluster, { tenant });
  const job = { tenantID: tenant.id, workflowID, dueAgo: 0 };
  const cronJobID = await aCronJob(cluster, { ...job, columns: { creator_id: tenant.creator.id } });
  const pausedID = await aCronJob(cluster, { ...job, columns: { paused_at: new Date().toISOString() } });
  await aCronScheduler(cluster).poll();

  const [fired] = await logs(tenant, `type=CRON_TICK&assetID=${cronJobID}`);
  expect(fired).toMatchObject({ subType: 'fired', outcome: 'success', userID: tenant.creator.id });
  const [skipped] = await logs(tenant, `type=CRON_TICK&assetID=${pausedID}`);
  expect(skipped).toMatchObject({ subType: 'skipped', outcome: 'failure', metadata: { reason: 'The job was paused' } });
  expect(await logs(tenant, 'type=RUN_START')).toMatchObject([
    {
      subType: 'cron',
      userID: tenant.creator.id,
      asset: { type: 'workflow', id: workflowID },
      metadata: { instanceID: fired?.metadata.instanceID, tickID: fired?.auditLogID, originID: cronJobID },
    },
  ]);
});

test('a socket is in the trail of each tenant whose rooms it enters, from its first room to its end', async () => {
  const tenant = await aTenant(cluster);
  const other = await aTenant(cluster, { creator: tenant.creator });
  const listener = await aListener(cluster, { tenant });
  const socket = await cluster.socket(tenant.creator);
  await socket.ask('join_room', `tenant:${tenant.id}`);
  await socket.ask('join_room', `listener_test:${listener.id}`);
  await socket.ask('join_room', `tenant:${other.id}`);
  await socket.ask('leave_room', `listener_test:${listener.id}`);
  socket.raw.disconnect();

  const found = await logsOnceThere(tenant, 'type=SOCKET_ACTION', 5);
  expect(found.map(({ subType, metadata: { room } }) => [subType, room])).toEqual([
    ['disconnect', undefined],
    ['leave', `listener_test:${listener.id}`],
    ['join', `listener_test:${listener.id}`],
    ['join', `tenant:${tenant.id}`],
    ['connect', undefined],
  ]);
  expect(found[2]).toMatchObject({
    userID: tenant.creator.id,
    asset: { type: 'listener', id: listener.id },
    metadata: { ip: expect.stringContaining('127.0.0.1') },
  });
  expect(new Set(found.map(({ metadata }) => metadata.socketID)).size).toBe(1);
  await logsOnceThere(other, 'type=SOCKET_ACTION', 3);
});

test('what a socket of a member is refused is in the trail, and what strangers try is not', async () => {
  const tenant = await aTenant(cluster);
  const [listener, workflow] = [await aListener(cluster, { tenant }), await aWorkflow(cluster, { tenant })];
  const [member, stranger] = [await aMember(cluster, { tenant }), await aMember(cluster)];
  const connect = { mode: 'execute', widgetID: newID(), workflowID: workflow.id };
  for (const user of [member, stranger]) {
    const socket = await cluster.socket(user);
    await socket.ask('join_room', `listener_test:${listener.id}`);
    await socket.ask('widget_workflow_connect', connect);
  }

  const refused = { userID: member.id, subType: 'refuse', outcome: 'failure', error: { status: 403 } };
  expect(await logsOnceThere(tenant, 'type=SOCKET_ACTION', 2)).toMatchObject([
    { ...refused, asset: { type: 'workflow', id: workflow.id }, metadata: { event: 'widget_workflow_connect' } },
    { ...refused, asset: { type: 'listener', id: listener.id }, metadata: { event: 'join_room' } },
  ]);
});

test('what operators do is in the trails of the tenants that it concerns, and of no other', async () => {
  const [tenant, other] = [await aTenant(cluster), await aTenant(cluster)];
  const operator = await anOperator(cluster);
  const api = cluster.asOperator(operator);
  await api.get(`/api/v1/operator/tenants/${tenant.id}/quotas`);
  await api.patch(`/api/v1/operator/tenants/${tenant.id}/dispatch`, { weight: 3 });
  const role = await aRole(cluster, { tenant });
  await api.patch(`/api/v1/operator/roles/${role.id}`, { roleName: 'Renamed' });
  const member = await aMember(cluster, { tenant });
  await api.patch(`/api/v1/operator/users/${member.id}`, { isDisabled: true });

  const found = await logsOnceThere(tenant, 'type=OPERATOR_REQUEST&status=success', 4);
  const byOperation = new Map(found.map((log) => [Reflect.get(Object(log.metadata.request), 'operation'), log]));
  expect([...byOperation.keys()].sort()).toEqual([
    'getTenantQuotas',
    'updateAnyRole',
    'updateTenantDispatch',
    'updateUser',
  ]);
  expect(byOperation.get('updateAnyRole')).toMatchObject({
    userID: null,
    changes: [{ assetType: 'role', changes: { roleName: { to: 'Renamed' } } }],
    metadata: { operatorID: operator.id },
  });
  expect(byOperation.get('updateTenantDispatch')?.changes).toMatchObject([
    { assetType: 'tenant', changes: { weight: { from: 1, to: 3 } } },
  ]);
  expect(await logs(other, 'type=OPERATOR_REQUEST')).toEqual([]);
});
