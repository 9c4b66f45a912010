import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { routes } from '#api/app/routes.ts';
import { newID } from '#shared/core/ids.ts';
import type { Client } from '../../support/client.ts';
import { type Cluster, startCluster } from '../../support/cluster.ts';
import { aMember, anApiKey, aTenant, type TestTenant } from '../../support/factories.ts';
import { callRoute, makeParams, nameOf } from '../../support/route-calls.ts';

let cluster: Cluster;
let tenant: TestTenant;
let api: Client;
beforeAll(async () => {
  cluster = await startCluster({ workers: false });
  tenant = await aTenant(cluster);
  api = cluster.as(tenant.creator).in(tenant);
});
afterAll(() => cluster[Symbol.asyncDispose]());

const kinds = [
  { path: 'T/dashboards', one: 'dashboard', many: 'dashboards' },
  { path: 'T/app-pages', one: 'appPage', many: 'appPages' },
] as const;

describe.each(kinds)('$many', ({ path, one, many }) => {
  const body = (title: string, config: object = { widgets: [] }) => ({
    [`${one}Title`]: title,
    [`${one}Config`]: config,
  });
  const idOf = async (title: string, config?: object): Promise<string> =>
    (await api.post(path, body(title, config))).body[one].id;
  const versionsOf = async (id: string) => (await api.get(`${path}/${id}/versions`)).body.versions;

  test('are created with every field of the contract, listed, found and copied', async () => {
    const folder = await api.post('T/folders', { entityType: one, folderTitle: 'A folder' });
    const folderID = folder.body.folder.id;
    const title = `Sales 100% ${newID()}`;
    const given = { ...body(title, { widgets: ['a'], unknown: { kept: [1, null] } }), folderID };
    const made = await api.post(path, { ...given, [`${one}Description`]: 'All of them' });

    expect(made).toMatchObject({ status: 201, body: { [one]: { ...given, [`${one}Description`]: 'All of them' } } });
    const { id, ...rest } = made.body[one];
    expect(rest).toMatchObject({
      [`${one}ID`]: id,
      tenantID: tenant.id,
      creatorID: tenant.creator.id,
      versionNumber: 1,
    });
    expect((await api.get(`${path}/${id}`)).body[one]).toEqual(made.body[one]);
    for (const query of [`folderID=${folderID}`, `search=${encodeURIComponent(title)}`])
      expect((await api.get(`${path}?${query}`)).body).toMatchObject({ totalCount: 1, [many]: [{ id }] });

    const copy = (await api.post(`${path}/${id}/clone`)).body[one];
    expect(copy).toMatchObject({ ...given, [`${one}Title`]: `${title} (Copy)`, versionNumber: 1 });
    await api.delete(`${path}/${id}`);
    expect((await api.get(`${path}/${id}`)).status).toBe(404);
    expect((await api.get(`${path}/${copy.id}`)).status).toBe(200);
    const { body: described } = await api.get(`${path}/schemas`);
    expect(described.schemas).toMatchObject({ assetType: one, schema: { type: 'object' } });
  });

  test('name the field that is wrong', async () => {
    const config = `${one}Config`;
    const wrong: [object, (string | number)[]][] = [
      [{ [config]: {} }, [`${one}Title`]],
      [{ [`${one}Title`]: 'a' }, [config]],
      [body(' '), [`${one}Title`]],
      [body('a', { widgets: 'all' }), [config, 'widgets']],
      [{ ...body('a'), folderID: newID() }, ['folderID']],
      [body('a', { text: 'x'.repeat(1024 ** 2) }), [config]],
    ];
    for (const [given, field] of wrong) {
      const { status, body: answer } = await api.post(path, given);
      expect([status, answer.error.details.issues[0].path]).toEqual([400, field]);
    }
  });

  test('keep a version for each change: who saved it, when and why, what differs, and the way back', async () => {
    const id = await idOf('First', { a: { b: 1, c: 2 } });
    const key = await anApiKey(cluster, { tenant, can: [`${one}.update`] });
    await api.patch(`${path}/${id}`, { folderID: null });
    await api.patch(`${path}/${id}`, body('First', { a: { c: 2, b: 1 } }));
    const changed = { ...body('Second', { a: { b: 3, c: 2 } }), changeNote: 'Because' };
    await cluster.withKey(key).in(tenant).patch(`${path}/${id}`, changed);

    const [second, first, ...more] = await versionsOf(id);
    expect(more).toEqual([]);
    expect(second).toMatchObject({ versionNumber: 2, changeNote: 'Because', createdByApiKeyID: key.id });
    expect(first).toMatchObject({ versionNumber: 1, creatorID: tenant.creator.id, createdByApiKeyID: null });
    const at = `${path}/${id}/versions/${second[`${one}VersionID`]}`;
    expect((await api.get(at)).body.version).toMatchObject({ ...second, ...body('Second', { a: { b: 3, c: 2 } }) });
    const { diff } = (await api.get(`${at}/diff`)).body;
    expect(diff).toEqual({ before: first, after: second, paths: [[`${one}Title`], [`${one}Config`, 'a', 'b']] });
    expect((await api.get(`${at}/diff?against=2`)).body.diff.paths).toEqual([]);

    const restored = await api.post(`${path}/${id}/versions/${first[`${one}VersionID`]}/restore`);
    expect(restored.body[one]).toMatchObject({ ...body('First', { a: { b: 1, c: 2 } }), versionNumber: 3 });
    expect((await versionsOf(id))[0]).toMatchObject({ versionNumber: 3, changeNote: 'Version 1 restored' });
  });

  test('are bounded in versions, and their versions go with them', async () => {
    const id = await idOf('Many');
    await cluster.pool.query(
      `insert into asset_version (id, tenant_id, asset_id, number, title, config, bytes, creator_id)
       select gen_random_uuid(), $2, $1, -n, 't', '{}', 0, $2 from generate_series(1, 120) n`,
      [id, tenant.id],
    );
    await api.patch(`${path}/${id}`, body('More'));
    expect((await api.get(`${path}/${id}/versions`)).body.totalCount).toBe(100);

    // Three of four megabytes are more than ten.
    for (let n = 0; n < 4; n += 1) await api.patch(`${path}/${id}`, body(`Change ${n}`));
    await cluster.pool.query('update asset_version set bytes = 4e6 where asset_id = $1', [id]);
    await api.patch(`${path}/${id}`, body('Small'));
    expect((await versionsOf(id)).map(({ versionNumber }: { versionNumber: number }) => versionNumber)).toEqual([
      7, 6, 5,
    ]);
    await api.delete(`${path}/${id}`);
    const left = await cluster.pool.query('select from asset_version where asset_id = $1', [id]);
    expect(left.rowCount).toBe(0);
  });

  test('tell two editors apart: the second is refused with the version that is there', async () => {
    const id = await idOf('Edited');
    const etag = (await api.get(`${path}/${id}`)).headers.get('etag') ?? '';
    expect(etag).toBe('"1"');
    const save = (title: string, match = etag) => api.patch(`${path}/${id}`, body(title), { 'if-match': match });

    const answers = await Promise.all([save('Mine'), save('Theirs')]);
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 412]);
    const [saved, refused] = answers.sort((one, other) => one.status - other.status);
    expect(saved?.headers.get('etag')).toBe('"2"');
    expect(refused?.body.error).toMatchObject({
      code: 'PRECONDITION_FAILED',
      details: { versionNumber: 2, etag: '"2"' },
    });
    expect((await versionsOf(id)).length).toBe(2);

    expect((await save('Again', 'W/"9", W/"2"')).status).toBe(200);
    expect((await save('Any', '*')).status).toBe(200);
    for (const malformed of ['4', '""4"', 'a, "4"', ''])
      expect([malformed, (await save('x', malformed)).body.error.message]).toEqual([
        malformed,
        expect.stringContaining('If-Match: expected'),
      ]);
    expect((await api.delete(`${path}/${id}`, undefined, { 'if-match': etag })).status).toBe(412);
    const versions = await versionsOf(id);
    const restore = `${path}/${id}/versions/${versions[1][`${one}VersionID`]}/restore`;
    expect((await api.post(restore, undefined, { 'if-match': etag })).status).toBe(412);
    expect((await api.delete(`${path}/${id}`, undefined, { 'if-match': '"4"' })).status).toBe(200);
  });

  test('of another tenant are not there, nor are their versions', async () => {
    const other = await aTenant(cluster);
    const theirs = (await cluster.as(other.creator).in(other).post(path, body('Theirs'))).body[one].id;
    const mine = await idOf('Mine');
    const own = await api.get(`${path}/${mine}/versions`);
    const [{ [`${one}VersionID`]: versionID }] = own.body.versions;
    for (const at of [theirs, `${theirs}/versions`, `${theirs}/versions/${versionID}`])
      expect([at, (await api.get(`${path}/${at}`)).status]).toEqual([at, 404]);
    const [{ id: theirVersion }] = (
      await cluster.pool.query<{ id: string }>('select id from asset_version where asset_id = $1', [theirs])
    ).rows as [{ id: string }];
    for (const at of [`versions/${theirVersion}`, `versions/${versionID}/diff?against=${theirVersion}`])
      expect([at, (await api.get(`${path}/${mine}/${at}`)).status]).toEqual([at, 404]);
    expect((await api.post(`${path}/${mine}/versions/${theirVersion}/restore`)).status).toBe(404);
    const viewer = cluster.as(await aMember(cluster, { tenant, can: [`${one}.read`] })).in(tenant);
    expect((await viewer.patch(`${path}/${mine}`, body('x'))).status).toBe(403);
  });
});

test('every route that honours If-Match refuses another version', async () => {
  for (const route of routes.filter(({ conditional }) => conditional)) {
    const made = await makeParams(cluster, route, tenant);
    const answer = await callRoute(cluster.as(tenant.creator), route, made, { headers: { 'if-match': '"0"' } });
    expect([nameOf(route), answer.status]).toEqual([nameOf(route), 412]);
  }
});
