import { afterAll, beforeAll, expect, test } from 'vitest';
import { newID } from '#shared/core/ids.ts';
import type { Client } from '../../support/client.ts';
import { type Cluster, startCluster } from '../../support/cluster.ts';
import { aMember, aTenant, aWorkflow, type TestTenant } from '../../support/factories.ts';

let cluster: Cluster;
let tenant: TestTenant;
let api: Client;
beforeAll(async () => {
  cluster = await startCluster();
  tenant = await aTenant(cluster);
  api = cluster.as(tenant.creator).in(tenant);
});
afterAll(() => cluster[Symbol.asyncDispose]());

async function aFolder(title: string, parentFolderID?: string, entityType = 'workflow'): Promise<string> {
  const { status, body } = await api.post('T/folders', { entityType, folderTitle: title, parentFolderID });
  expect(status).toBe(201);
  return body.folder.id;
}

async function parents(entityType = 'workflow'): Promise<Record<string, string | null>> {
  const { folders } = (await api.get(`T/folders?entityType=${entityType}`)).body;
  return Object.fromEntries(
    folders.map((one: { id: string; parentFolderID: string | null }) => [one.id, one.parentFolderID]),
  );
}

test('folders of one kind form a tree, listed flat and found by a part of the title', async () => {
  const [top, data] = [await aFolder('Orders 100%'), await aFolder('Data', undefined, 'dataQuery')];
  const inside = await aFolder('Returns', top);

  expect(await parents()).toMatchObject({ [top]: null, [inside]: top });
  expect(Object.keys(await parents('dataQuery'))).toEqual([data]);
  const found = await api.get('T/folders?entityType=workflow&search=100%25');
  expect(found.body).toMatchObject({ totalCount: 1, folders: [{ id: top, folderTitle: 'Orders 100%' }] });
  expect((await api.get('T/folders')).body.error.message).toContain('entityType: expected');
  expect((await api.get(`T/folders/${inside}`)).body.folder).toMatchObject({ parentFolderID: top });
});

test('a folder moves with what is in it, and never into itself or to another kind', async () => {
  const [a, b] = [await aFolder('a'), await aFolder('b')];
  const c = await aFolder('c', a);
  const other = await aFolder('other', undefined, 'cronJob');
  const move = (id: string, parentFolderID: string | null) => api.patch(`T/folders/${id}`, { parentFolderID });

  for (const parent of [a, c, other, newID()]) {
    const { status, body } = await move(a, parent);
    expect([status, body.error.details.issues[0].path]).toEqual([400, ['parentFolderID']]);
  }
  expect((await move(a, b)).body.folder).toMatchObject({ parentFolderID: b, folderTitle: 'a' });
  expect(await parents()).toMatchObject({ [a]: b, [b]: null, [c]: a });
  expect((await move(a, null)).status).toBe(200);

  // Each alone would be no cycle.
  const answers = await Promise.all([move(a, b), move(b, a)]);
  expect(answers.map(({ status }) => status).sort()).toEqual([200, 400]);
});

test('assets are moved together or not at all, by a caller who may update each', async () => {
  const folder = await aFolder('together');
  const [one, two] = [await aWorkflow(cluster, { tenant }), await aWorkflow(cluster, { tenant })];
  const theirs = await aWorkflow(cluster, { tenant: await aTenant(cluster) });
  const move = (entityIDs: string[], who: Client = api, folderID: string | null = folder) =>
    who.post('T/folders/move', { entityType: 'workflow', entityIDs, folderID });
  const inside = async () => (await api.get(`T/workflows?folderID=${folder}`)).body.workflows.length;

  const missing = await move([one.id, theirs.id]);
  expect(missing).toMatchObject({
    status: 400,
    body: { error: { message: 'entityIDs.1: there is no such workflow' } },
  });
  const partly = await aMember(cluster, {
    tenant,
    can: ['folder.update'],
    rules: [{ object: `workflow:${one.id}`, action: 'update' }],
  });
  expect((await move([one.id, two.id], cluster.as(partly).in(tenant))).status).toBe(403);
  expect(await inside()).toBe(0);
  expect((await move([one.id], cluster.as(partly).in(tenant))).body).toMatchObject({ moved: 1 });
  expect((await move([one.id, two.id, two.id])).body).toMatchObject({ moved: 2 });
  expect(await inside()).toBe(2);
  expect((await move([one.id], api, await aFolder('of queries', undefined, 'dataQuery'))).status).toBe(400);
  expect((await move([one.id], api, null)).body).toMatchObject({ moved: 1 });
  expect(await inside()).toBe(1);
});

test('a deleted folder leaves its folders above it and its assets in no folder', async () => {
  const top = await aFolder('top');
  const middle = await aFolder('middle', top);
  const bottom = await aFolder('bottom', middle);
  const { id } = await aWorkflow(cluster, { tenant });
  await api.patch(`T/workflows/${id}`, { folderID: middle });

  expect((await api.delete(`T/folders/${middle}`)).status).toBe(200);

  expect(await parents()).toMatchObject({ [bottom]: top });
  expect((await api.get(`T/workflows/${id}`)).body.workflow.folderID).toBe(null);
  expect((await api.get(`T/folders/${middle}`)).status).toBe(404);
});

test('an asset is created in and moved to a folder of its kind in its tenant, and to no other', async () => {
  const other = await aTenant(cluster);
  const theirs = await cluster
    .as(other.creator)
    .in(other)
    .post('T/folders', { entityType: 'datasource', folderTitle: 'x' });
  const wrong = [newID(), theirs.body.folder.id, await aFolder('of queries', undefined, 'dataQuery')];
  const given = {
    datasourceTitle: 'd',
    datasourceType: 'restapi',
    datasourceOptions: { baseUrl: 'https://example.test' },
  };
  const own = await aFolder('own', undefined, 'datasource');
  const made = await api.post('T/datasources', { ...given, folderID: own });
  expect(made.body.datasource).toMatchObject({ folderID: own });

  for (const folderID of wrong)
    for (const answer of [
      await api.post('T/datasources', { ...given, folderID }),
      await api.patch(`T/datasources/${made.body.datasource.id}`, { folderID }),
    ])
      expect([answer.status, answer.body.error.details.issues[0].path]).toEqual([400, ['folderID']]);
});

test('a copy is in the folder of the original, or in none if the folder is gone', async () => {
  const folder = await aFolder('of copies');
  const { id } = await aWorkflow(cluster, { tenant });
  await api.patch(`T/workflows/${id}`, { folderID: folder });
  const copy = async () => (await api.post(`T/workflows/${id}/clone`, {})).body.workflow.folderID;

  expect(await copy()).toBe(folder);
  await cluster.pool.query('update workflow set folder_id = $2 where id = $1', [id, newID()]);
  expect(await copy()).toBe(null);
});
