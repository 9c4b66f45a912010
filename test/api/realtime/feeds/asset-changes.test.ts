import { afterAll, beforeAll, expect, test } from 'vitest';
import { coalesce } from '#api/realtime/feeds/asset-changes.ts';
import { newID } from '#shared/core/ids.ts';
import { AssetChange } from '#shared/messaging/realtime/asset-changes.ts';
import type { Client } from '../../../support/client.ts';
import { type Cluster, startCluster } from '../../../support/cluster.ts';
import { aMember, anApiKey, aTenant, aWorkflow, type TestTenant } from '../../../support/factories.ts';
import { eventually } from '../../../support/settle.ts';
import type { TestSocket } from '../../../support/socket.ts';

let cluster: Cluster;
let tenant: TestTenant;
let api: Client;
beforeAll(async () => {
  cluster = await startCluster({ workers: false, apis: 2 });
  tenant = await aTenant(cluster);
  api = cluster.as(tenant.creator).in(tenant);
});
afterAll(() => cluster[Symbol.asyncDispose]());

const aDashboard = (title: string) => ({ dashboardTitle: title, dashboardConfig: {} });

/** Messages to the socket about these assets, without the times. */
function heardOf(socket: TestSocket, ...ids: string[]) {
  return socket.news
    .filter(({ event, payload }) => event === 'asset_changed' && ids.includes(payload.id))
    .map(({ payload: { at, tenantID, ...payload } }) => {
      expect([Date.parse(at) > 0, tenantID]).toEqual([true, tenant.id]);
      return payload;
    });
}

/** In the room of the tenant, at the second process. */
async function inRoom(user = tenant.creator): Promise<TestSocket> {
  const socket = await cluster.socket(user, cluster.apis[1]);
  expect(await socket.ask('join_room', `tenant:${tenant.id}`)).toMatchObject({ success: true });
  return socket;
}

test('a change is told in another process: what, which version, who', async () => {
  await using socket = await inRoom();
  const key = await anApiKey(cluster, { tenant, can: ['dashboard.update'] });
  const { id } = (await api.post('T/dashboards', aDashboard('One'))).body.dashboard;
  const told = (action: string, version: number) => ({
    entity: 'dashboard',
    id,
    action,
    version,
    changedBy: tenant.creator.id,
  });
  await eventually(() => expect(heardOf(socket, id)).toEqual([told('created', 1)]));

  await cluster.withKey(key).in(tenant).patch(`T/dashboards/${id}`, aDashboard('Two'));
  await eventually(() => expect(heardOf(socket, id)).toEqual([told('created', 1), told('updated', 2)]));
  await api.delete(`T/dashboards/${id}`);
  await eventually(() => expect(heardOf(socket, id).at(-1)).toEqual(told('deleted', 2)));
});

test('what moves, stops or is switched off is told as well', async () => {
  await using socket = await inRoom();
  const { id } = await aWorkflow(cluster, { tenant });
  const folder = await api.post('T/folders', { entityType: 'workflow', folderTitle: 'A folder' });
  const key = await anApiKey(cluster, { tenant });
  const folderID = folder.body.folder.id;
  await eventually(() => expect(heardOf(socket, id, key.id, folderID)).toHaveLength(3));
  await api.post('T/folders/move', { entityType: 'workflow', entityIDs: [id], folderID });
  await api.delete(`T/apikeys/${key.id}`);
  await api.delete(`T/folders/${folderID}`);
  const changedBy = tenant.creator.id;
  await eventually(() => {
    const heard = heardOf(socket, id, key.id, folderID);
    expect(heard).toContainEqual({ entity: 'workflow', id, action: 'updated', version: null, changedBy });
    expect(heard).toContainEqual(expect.objectContaining({ entity: 'apiKey', id: key.id, action: 'updated' }));
    expect(heard).toContainEqual({ entity: 'folder', id: folderID, action: 'deleted', version: null, changedBy });
  });
  // Workflows are paused apart from requests' transactions, so that the user is not named.
  socket.news.splice(0);
  await api.post(`T/workflows/${id}/pause`, {});
  await eventually(() => expect(heardOf(socket, id)).toMatchObject([{ action: 'updated', changedBy: null }]));
});

test('a change is told although the process that committed it is gone, also after a long transaction', async () => {
  await using socket = await inRoom();
  const { id } = (await api.post('T/dashboards', aDashboard('Long'))).body.dashboard;
  await eventually(() => expect(heardOf(socket, id)).toHaveLength(1));
  const client = await cluster.pool.connect();
  await client.query('begin');
  await client.query('update dashboard set updated_at = now(), version_number = 7 where id = $1', [id]);
  // As if the transaction had begun long ago.
  await client.query(
    `update asset_change set created_at = now() - interval '10 seconds' where asset_id = $1 and version = 7`,
    [id],
  );
  // Others are told meanwhile.
  const other = (await api.post('T/dashboards', aDashboard('Short'))).body.dashboard.id;
  await eventually(() => expect(heardOf(socket, other)).toHaveLength(1));
  await client.query('commit');
  client.release();
  await eventually(() =>
    expect(heardOf(socket, id).at(-1)).toEqual({
      entity: 'dashboard',
      id,
      action: 'updated',
      version: 7,
      changedBy: null,
    }),
  );
});

test('a member hears only of what they may list and read, and a stranger of nothing', async () => {
  const [own, other] = [await aWorkflow(cluster, { tenant }), await aWorkflow(cluster, { tenant })];
  const rules = [{ object: `workflow:${own.id}`, action: 'read' }];
  const [partly, readsOnly, everything, nothing] = [
    await aMember(cluster, { tenant, rules }),
    await aMember(cluster, { tenant, can: ['workflow.read'] }),
    await aMember(cluster, { tenant, can: ['workflow.read', 'workflow.list'] }),
    await aMember(cluster, { tenant, can: ['dashboard.list', 'dashboard.read'] }),
  ];
  const elsewhere = await aTenant(cluster);
  await using stranger = await cluster.socket(elsewhere.creator, cluster.apis[1]);
  expect(await stranger.ask('join_room', `tenant:${tenant.id}`)).toMatchObject({ success: false });
  await stranger.ask('join_room', `tenant:${elsewhere.id}`);
  const sockets = await Promise.all([partly, readsOnly, everything, nothing].map((user) => inRoom(user)));
  // Messages about their creation come before, so that they are not told together with the change.
  await eventually(() => expect(sockets[2] && heardOf(sockets[2], own.id, other.id)).toHaveLength(2));
  for (const { id } of [own, other]) await api.patch(`T/workflows/${id}`, { title: 'Changed' });

  const [first, , third] = sockets;
  const updatesOf = (socket: TestSocket | undefined) =>
    socket ? heardOf(socket, own.id, other.id).filter(({ action }) => action === 'updated') : [];
  await eventually(() => expect(updatesOf(third)).toHaveLength(2));
  await eventually(() => expect(updatesOf(first)).toMatchObject([{ id: own.id }]));
  expect(sockets.map((socket) => updatesOf(socket).length)).toEqual([1, 0, 2, 0]);
  expect(stranger.news).toEqual([]);
  for (const socket of sockets) await socket[Symbol.asyncDispose]();
});

test('a socket that has left the room hears no more', async () => {
  await using socket = await inRoom();
  await using stays = await inRoom();
  await socket.ask('leave_room', `tenant:${tenant.id}`);
  const { id } = (await api.post('T/dashboards', aDashboard('Left'))).body.dashboard;
  await eventually(() => expect(heardOf(stays, id)).toHaveLength(1));
  expect(heardOf(socket, id)).toEqual([]);
});

test('a socket hears once of what changes many times in one moment', async () => {
  await using socket = await inRoom();
  const { id } = (await api.post('T/dashboards', aDashboard('Often'))).body.dashboard;
  await eventually(() => expect(heardOf(socket, id)).toHaveLength(1));
  const client = await cluster.pool.connect();
  await client.query('begin');
  // A change is noticed by its time, in milliseconds.
  for (const version of [2, 3, 4])
    await client.query(
      `update dashboard set version_number = $2, updated_at = now() + $2::int * interval '1 s' where id = $1`,
      [id, version],
    );
  await client.query('commit');
  client.release();
  await eventually(() => expect(heardOf(socket, id).at(-1)).toMatchObject({ version: 4 }));
  expect(heardOf(socket, id)).toHaveLength(2);
});

const change = (id: string, action: 'created' | 'updated' | 'deleted', more: object = {}) => ({
  ...{ tenantID: tenant.id, entity: 'widget', id, action, version: null, changedBy: tenant.creator.id },
  at: '2026-03-02T09:30:00.123456+01:00',
  ...more,
});

test('changes of one second are told once for each asset, and many of one kind as one', () => {
  const [a, b, c] = [newID(), newID(), newID()];
  const merged = coalesce([
    change(a, 'created'),
    change(b, 'updated', { version: 2 }),
    change(a, 'updated'),
    change(c, 'created'),
    change(b, 'updated', { version: 3 }),
    change(c, 'deleted'),
    change(a, 'updated', { entity: 'ofLaterVersions' }),
  ]);
  expect(merged).toMatchObject([
    { id: a, action: 'created', at: '2026-03-02T08:30:00.123Z' },
    { id: b, action: 'updated', version: 3 },
  ]);
  const many = coalesce(
    Array.from({ length: 60 }, (_, n) => change(newID(), 'updated', { changedBy: n < 30 ? a : b })),
  );
  expect(many).toMatchObject([{ entity: 'widget', id: null, action: 'many', version: null, changedBy: null }]);
  for (const payload of [...merged, ...many]) expect(AssetChange.safeParse(payload).error).toBeUndefined();
});
