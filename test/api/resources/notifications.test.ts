import { afterAll, beforeAll, expect, test } from 'vitest';
import { newID } from '#shared/core/ids.ts';
import { type Cluster, startCluster } from '../../support/cluster.ts';
import {
  aListener,
  aMember,
  aRole,
  aTenant,
  aUser,
  aWorkflow,
  type TestTenant,
  type TestUser,
} from '../../support/factories.ts';
import { graph } from '../../support/graphs.ts';
import { eventually } from '../../support/settle.ts';

let cluster: Cluster;
let tenant: TestTenant;
let manager: TestUser;
let clerk: TestUser;
beforeAll(async () => {
  cluster = await startCluster({ workers: true });
  tenant = await aTenant(cluster, { tenantTitle: 'Acme' });
  const can = ['workflow.execute', 'appPage.read'] as const;
  manager = await aMember(cluster, { tenant, can });
  clerk = await aMember(cluster, { tenant, can });
  const role = await aRole(cluster, { tenant, roleName: 'Managers' });
  await as(tenant.creator).patch(`T/users/${manager.id}/roles`, { roleIDs: [role.id] });
});
afterAll(() => cluster[Symbol.asyncDispose]());

const as = (user: TestUser) => cluster.as(user).in(tenant);

async function listOf(user: TestUser, query = '') {
  const { status, body } = await cluster.as(user).get(`/api/v1/notifications${query}`);
  expect(status).toBe(200);
  return body;
}

/** Notifications of a user about a subject. */
const toldOf = async (user: TestUser, subjectID: string) =>
  (await listOf(user)).notifications.filter((each: { subjectID: string }) => each.subjectID === subjectID);

async function anApproval(ask: object): Promise<string> {
  const nodes = { start: { type: 'start' }, ask: { type: 'approval', title: 'Refund', ...ask }, end: { type: 'end' } };
  const edges = ['start>ask', 'ask:approved>end', 'ask:rejected>end'];
  return (await aWorkflow(cluster, { tenant, title: 'Refunds', ...graph(nodes, edges) })).id;
}

async function requestOf(instanceID: string): Promise<string> {
  let id = '';
  await eventually(async () => {
    const { rows } = await cluster.pool.query('select id from collection_request where instance_id = $1', [instanceID]);
    id = rows[0]?.id ?? expect.fail('nothing is asked');
  });
  return id;
}

test('those whom an approval names are told, in the list and live, until it is answered', async () => {
  await using socket = await cluster.socket(manager);
  await using other = await cluster.socket(clerk);
  const workflowID = await anApproval({ approvers: 'managers' });
  const { instanceID } = (await as(clerk).post(`T/workflows/${workflowID}/execute`, {})).body;
  const id = await requestOf(instanceID);

  const [told, ...more] = await toldOf(manager, id);
  expect(more).toEqual([]);
  expect(told).toMatchObject({
    userID: manager.id,
    tenantID: tenant.id,
    kind: 'collectionRequest',
    title: 'Your approval is awaited',
    description: 'Refunds: Refund',
    actionType: 'link',
    action: `../tenants/${tenant.id}/workflows/data-collection/${id}`,
    notifierID: null,
    readAt: null,
  });
  await eventually(() => expect(socket.news).toContainEqual({ event: 'notification', payload: told }));
  expect([await toldOf(clerk, id), await toldOf(tenant.creator, id)]).toEqual([[], []]);
  expect(other.news.filter(({ payload }) => payload.subjectID === id)).toEqual([]);

  await as(manager).post(`T/workflows/data-collection/${id}/submit`, { submittedData: { decision: 'approve' } });
  expect((await toldOf(manager, id))[0].readAt).not.toBe(null);
});

test('an approval without names waits for the person by whose request the run began', async () => {
  const workflowID = await anApproval({});
  const { instanceID } = (await as(clerk).post(`T/workflows/${workflowID}/execute`, {})).body;
  const id = await requestOf(instanceID);
  expect([await toldOf(clerk, id), await toldOf(manager, id)]).toMatchObject([[{ subjectID: id }], []]);

  const dataSources = [{ alias: 'w', type: 'workflow', workflowID }];
  const page = await as(tenant.creator).post('T/app-pages', { appPageTitle: 'p', appPageConfig: { dataSources } });
  const path = `T/app-pages/${page.body.appPage.id}/workflows/w/execute`;
  const ofPage = await requestOf((await as(manager).post(path, {})).body.instanceID);
  expect([await toldOf(manager, ofPage), await toldOf(tenant.creator, ofPage)]).toMatchObject([[{}], []]);
});

test('the creator of a schedule or a listener that stops is told in the transaction that stops it, once', async () => {
  const { id: workflowID } = await aWorkflow(cluster, { tenant });
  const job = await as(tenant.creator).post('T/cronjobs', {
    ...{
      cronJobTitle: 'Nightly',
      cronJobSchedule: '0 0 29 2 *',
      cronJobType: 'workflow',
      cronJobConfig: { workflowID },
    },
  });
  const jobID = job.body.cronJob.id;
  const { id: listenerID } = await aListener(cluster, { tenant, title: 'Orders' });
  const stop = async (ending: string) => {
    const client = await cluster.pool.connect();
    await client.query('begin');
    await client.query(`update cron_job set stopped_at = now(), stop_reason = 'Not allowed' where id = $1`, [jobID]);
    await client.query(`update listener set status = 'error', last_error = 'Refused' where id = $1`, [listenerID]);
    await client.query(ending);
    client.release();
  };
  await stop('rollback');
  expect([await toldOf(tenant.creator, jobID), await toldOf(tenant.creator, listenerID)]).toEqual([[], []]);
  await stop('commit');
  await cluster.pool.query(`update listener set status = 'active' where id = $1`, [listenerID]);
  await cluster.pool.query(`update listener set status = 'error' where id = $1`, [listenerID]);
  expect(await toldOf(tenant.creator, jobID)).toMatchObject([
    { kind: 'cronJobStopped', title: 'Nightly has stopped', description: 'Not allowed' },
  ]);
  expect(await toldOf(tenant.creator, listenerID)).toMatchObject([
    { kind: 'listenerStopped', title: 'Orders has stopped', description: 'Refused' },
  ]);
});

test('a person who is added to a tenant is told who did it, and after leaving sees nothing of it', async () => {
  const user = await aUser(cluster);
  expect((await as(tenant.creator).post('T/users', { userEmail: user.email })).status).toBe(201);
  const [told] = (await listOf(user)).notifications;
  expect(told).toMatchObject({
    kind: 'tenantJoined',
    title: 'You are a member of Acme',
    action: `../tenants/${tenant.id}`,
  });
  expect(told.notifierID).toBe(`user_${tenant.creator.id}`);
  await as(tenant.creator).delete(`T/users/${user.id}`);
  expect(await listOf(user)).toMatchObject({ notifications: [], unreadCount: 0 });
  expect((await cluster.as(user).post(`/api/v1/notifications/${told.notificationID}/read`)).status).toBe(404);
});

test('a notification is read once, by its user only; the last 200 are kept', async () => {
  const user = await aMember(cluster, { tenant });
  await cluster.pool.query(
    `insert into notification (tenant_id, user_id, kind, title, action, action_text, created_at)
     select $1, $2, 'tenantJoined', n::text, '..', 'Open', now() + n * interval '1 millisecond' from generate_series(1, 250) n`,
    [tenant.id, user.id],
  );
  const all = await listOf(user, '?pageSize=2');
  expect(all).toMatchObject({ totalCount: 200, unreadCount: 200, notifications: [{ title: '250' }, { title: '249' }] });
  const [{ notificationID }] = all.notifications;
  const read = (by: TestUser, id = notificationID) => cluster.as(by).post(`/api/v1/notifications/${id}/read`);
  expect([(await read(clerk)).status, (await read(user, newID())).status, (await read(user, 'x')).status]).toEqual([
    404, 404, 400,
  ]);
  const { readAt } = (await read(user)).body.notification;
  expect((await read(user)).body.notification.readAt).toBe(readAt);
  expect(await listOf(user, '?unread=true&pageSize=1')).toMatchObject({ totalCount: 199, unreadCount: 199 });
});
