import pg from 'pg';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { newID } from '#shared/core/ids.ts';
import { MASK, openSecrets } from '#shared/core/schema/secret.ts';
import { datasourceTypes, findDatasourceType } from '#shared/datasources/types/index.ts';
import { sealedColumns } from '#shared/db/sealed-columns.ts';
import { type Client, lenient } from '../../../support/client.ts';
import { type Cluster, startCluster } from '../../../support/cluster.ts';
import { testServers } from '../../../support/environment.ts';
import {
  aDataQuery,
  aDatasource,
  aMember,
  aRole,
  aTenant,
  aWorkflow,
  chain,
  type TestTenant,
} from '../../../support/factories.ts';
import { startTCP } from '../../../support/tcp.ts';

let cluster: Cluster;
let tenant: TestTenant;
let api: Client;
beforeAll(async () => {
  cluster = await startCluster({ workers: ['datasource.tests', 'datasource.metadata', 'query.runs'] });
  tenant = await aTenant(cluster);
  api = cluster.as(tenant.creator).in(tenant);
});
afterAll(() => cluster[Symbol.asyncDispose]());

const server = new URL(testServers.datasourceURL);
const theServer = { connectionOption: 'connectionString', connectionString: testServers.datasourceURL };

function details(more: object = {}) {
  return {
    connectionOption: 'connectionDetails',
    connectionDetails: {
      host: server.hostname,
      port: Number(server.port),
      database: decodeURIComponent(server.pathname.slice(1)),
      user: decodeURIComponent(server.username),
      password: decodeURIComponent(server.password),
      sslMode: 'disable',
      ...more,
    },
  };
}

function create(more: object = {}, as = api, headers = {}) {
  const body = { datasourceTitle: 'Shop', datasourceType: 'postgresql', datasourceOptions: details() };
  return as.post('T/datasources', { ...body, ...more }, headers);
}

/** The options of a row, as stored and decrypted. */
async function stored(id: string) {
  const { rows } = await cluster.pool.query(
    'select datasource_type as type, datasource_options as options from datasource where id = $1',
    [id],
  );
  const [{ type, options }] = rows;
  const schema = findDatasourceType(type)?.options;
  if (!schema) throw new Error(type);
  const sealing = { secrets: cluster.context.secrets, context: sealedColumns.datasourceOptions.context(id) };
  return { sealed: JSON.stringify(options), clear: openSecrets(schema, options, sealing) };
}

describe('creating a datasource', () => {
  test('stores secrets encrypted, masks them, and gives its creator every permission on it', async () => {
    const member = await aMember(cluster, { tenant, can: ['datasource.create'] });
    const own = cluster.as(member).in(tenant);

    const created = await create({ datasourceOptions: details({ password: 'topsecret' }), datasourceTags: ['a'] }, own);
    const { datasourceID } = created.body.datasource;
    const read = await own.get(`T/datasources/${datasourceID}`);

    expect(created).toMatchObject({
      status: 201,
      body: {
        message: expect.any(String),
        datasource: {
          id: datasourceID,
          tenantID: tenant.id,
          datasourceTitle: 'Shop',
          datasourceType: 'postgresql',
          datasourceTags: ['a'],
          datasourceOptions: { connectionDetails: { password: MASK, host: server.hostname } },
          connectionStatus: 'unknown',
          testedAt: null,
          creatorID: member.id,
        },
      },
    });
    expect(read.body.datasource).toEqual(created.body.datasource);
    const { sealed, clear } = await stored(datasourceID);
    expect(sealed).not.toContain('topsecret');
    expect(clear).toMatchObject({ connectionDetails: { password: 'topsecret' } });
    expect((await own.patch(`T/datasources/${datasourceID}`, { datasourceTitle: 'Mine' })).status).toBe(200);
    expect((await own.delete(`T/datasources/${datasourceID}`)).status).toBe(200);
  });

  test('fills in the defaults of the type, and drops unknown options and names them', async () => {
    const { body } = await create({ datasourceOptions: { ...theServer, apiToken: 'topsecret' } }, api, lenient);
    const { sealed, clear } = await stored(body.datasource.id);

    expect(clear).toMatchObject(theServer);
    expect(sealed).not.toMatch(/apiToken|topsecret/);
    expect(body.unknownFields).toEqual([{ path: ['datasourceOptions', 'apiToken'], message: 'not known here' }]);
  });

  test('names unknown options also when the type comes from the stored row, and rejects them with strict handling', async () => {
    const { id } = (await create()).body.datasource;
    const datasourceOptions = details({ pasword: 'secret', additionalOptions: { connectTimeOut: 3 } });
    const unknownFields = [
      // The password is present as well, so it is not suggested.
      { path: ['datasourceOptions', 'connectionDetails', 'pasword'], message: 'not known here' },
      {
        path: ['datasourceOptions', 'connectionDetails', 'additionalOptions', 'connectTimeOut'],
        message: 'not known here; did you mean connectTimeout?',
      },
    ];
    const requests = [
      (headers = {}) => api.patch(`T/datasources/${id}`, { datasourceOptions }, headers),
      (headers = {}) => api.post('T/datasources/test', { datasourceType: 'postgresql', datasourceOptions }, headers),
    ];
    for (const request of requests) {
      const refused = await request();
      expect(refused.body.error.details.issues).toEqual(
        unknownFields.map((field) => ({ ...field, type: 'unrecognized_keys' })),
      );
      expect((await request(lenient)).body.unknownFields).toEqual(unknownFields);
    }
  });

  test.each([
    ['no title', { datasourceTitle: '' }, /^datasourceTitle: /],
    ['a long title', { datasourceTitle: 'x'.repeat(256) }, /^datasourceTitle: /],
    [
      'a type that is not there',
      { datasourceType: 'oracle' },
      /^datasourceType: expected one of .*postgresql.*, received "oracle"$/,
    ],
    ['no options', { datasourceOptions: null }, /^datasourceOptions: /],
    ['options of no form', { datasourceOptions: {} }, /^datasourceOptions\.connectionOption: /],
    ['a wrong option', { datasourceOptions: details({ port: 'x' }) }, /^datasourceOptions\.connectionDetails\.port: /],
    [
      'the mask of nothing',
      { datasourceOptions: details({ password: MASK }) },
      /connectionDetails\.password: is the mask/,
    ],
    ['a folder that is no id', { folderID: 'x' }, /^folderID: /],
  ])('refuses %s and names the path', async (_what, more, message) => {
    const answer = await create(more);
    expect(answer).toMatchObject({
      status: 400,
      body: { error: { code: 'VALIDATION_ERROR', message: expect.stringMatching(message) } },
    });
    expect(answer.body.error.details.issues[0].path.length).toBeGreaterThan(0);
  });

  test('happens once for one idempotency key, and the stored answer holds no secret', async () => {
    const headers = { 'Idempotency-Key': newID() };
    const body = {
      datasourceTitle: 'Once',
      datasourceType: 'postgresql',
      datasourceOptions: details({ password: 'topsecret' }),
    };

    const [first, second] = [
      await api.post('T/datasources', body, headers),
      await api.post('T/datasources', body, headers),
    ];

    expect(second.body).toEqual(first.body);
    const { rows } = await cluster.pool.query('select i::text as row from idempotency i where tenant_id = $1', [
      tenant.id,
    ]);
    expect(JSON.stringify(rows)).not.toContain('topsecret');
  });
});

describe('a datasource that is the tenant’s own database', () => {
  const ownDatabase = { datasourceTitle: 'Own', datasourceType: 'tenantdb', datasourceOptions: {} };

  test('needs no options, and its creator must be allowed to execute SQL there', async () => {
    const can = ['datasource.create', 'datasource.update'] as const;
    const rules = [{ object: 'database:*', action: 'execute' }];
    const may = cluster.as(await aMember(cluster, { tenant, can, rules })).in(tenant);
    const mayNot = cluster.as(await aMember(cluster, { tenant, can })).in(tenant);
    const { id } = await aDatasource(cluster, { tenant });
    const { datasourceTitle: _title, ...changed } = ownDatabase;

    const refused = [
      await mayNot.post('T/datasources', ownDatabase),
      await mayNot.patch(`T/datasources/${id}`, changed),
    ];
    const created = await may.post('T/datasources', ownDatabase);
    const tried = await api.post(`T/datasources/${created.body.datasource.id}/test`);

    for (const answer of refused)
      expect(answer).toMatchObject({ status: 403, body: { error: { code: 'PERMISSION_DENIED' } } });
    expect(created).toMatchObject({ status: 201, body: { datasource: { datasourceOptions: {} } } });
    expect(tried).toMatchObject({ status: 200, body: { connectionResult: true } });
    expect((await may.patch(`T/datasources/${id}`, changed)).status).toBe(200);
  });
});

describe('the list', () => {
  test('holds the datasources that the caller may read, newest first, by title, folder and type', async () => {
    const own = await aTenant(cluster);
    const admin = cluster.as(own.creator).in(own);
    const folder = await admin.post('T/folders', { entityType: 'datasource', folderTitle: 'Shops' });
    const folderID = folder.body.folder.id;
    const shop = (await create({ datasourceTitle: 'A 100% shop', folderID }, admin)).body.datasource.id;
    const other = (await create({ datasourceTitle: 'Other' }, admin)).body.datasource.id;
    const reader = await aMember(cluster, {
      tenant: own,
      can: ['datasource.list'],
      rules: [{ object: `datasource:${shop}`, action: 'read' }],
    });
    const ids = async (client: Client, query = '') =>
      (await client.get(`T/datasources${query}`)).body.datasources.map(({ id }: { id: string }) => id);

    expect(await ids(admin)).toEqual([other, shop]);
    expect(await ids(admin, '?search=100%25')).toEqual([shop]);
    expect(await ids(admin, `?folderID=${folderID}`)).toEqual([shop]);
    expect(await ids(admin, '?datasourceType=mysql')).toEqual([]);
    expect(await ids(cluster.as(reader).in(own))).toEqual([shop]);
    const { body } = await admin.get('T/datasources?pageSize=1');
    expect(body).toMatchObject({ totalCount: 2, totalPages: 2, page: 1, pageSize: 1, nextCursor: expect.any(String) });
    expect((await admin.get(`T/datasources?limit=1&cursor=${body.nextCursor}`)).body.datasources[0].id).toBe(shop);
  });
});

describe('an update', () => {
  test('keeps a secret when its mask is sent back, stores a new one, and clears an empty one', async () => {
    const { id, datasourceOptions } = (await create({ datasourceOptions: details({ password: 'first' }) })).body
      .datasource;
    const passwordAfter = async (options: object) => {
      expect(await api.patch(`T/datasources/${id}`, { datasourceOptions: options })).toMatchObject({ status: 200 });
      return (await stored(id)).clear;
    };

    expect(await passwordAfter(datasourceOptions)).toMatchObject({ connectionDetails: { password: 'first' } });
    expect(await passwordAfter(details({ password: MASK, connectionName: 'Mine' }))).toMatchObject({
      connectionDetails: { password: 'first', connectionName: 'Mine' },
    });
    expect(await passwordAfter(details({ password: 'second' }))).toMatchObject({
      connectionDetails: { password: 'second' },
    });
    expect(await passwordAfter(details({ password: '' }))).toMatchObject({ connectionDetails: { password: '' } });
  });

  test('sends no stored secret to another address, and neither does a test', async () => {
    const { id } = (await create({ datasourceOptions: details({ password: 'first' }) })).body.datasource;
    const moving = details({ password: MASK, host: 'attacker.example.com' });
    const field = 'datasourceOptions.connectionDetails.password';
    const refused = {
      status: 400,
      body: {
        error: {
          code: 'VALIDATION_ERROR',
          message: `${field}: must be given again, because datasourceOptions.connectionDetails.host changes: a stored secret is not sent to another address`,
        },
      },
    };

    expect(await api.patch(`T/datasources/${id}`, { datasourceOptions: moving })).toMatchObject(refused);
    const trial = { datasourceType: 'postgresql', datasourceOptions: moving, datasourceID: id };
    expect(await api.post('T/datasources/test', trial)).toMatchObject(refused);
    expect((await stored(id)).clear).toMatchObject({ connectionDetails: { password: 'first', host: server.hostname } });
    const known = details({ password: 'first', host: 'attacker.example.com' });
    expect((await api.patch(`T/datasources/${id}`, { datasourceOptions: known })).status).toBe(200);
  });

  test('keeps the fields it does not mention, and resets the last test when options change', async () => {
    const { id } = (await create({ datasourceDescription: 'words', datasourceTags: ['a', 'b'] })).body.datasource;
    await api.post(`T/datasources/${id}/test`);

    const renamed = await api.patch(`T/datasources/${id}`, { datasourceTitle: 'Renamed' });
    const same = await api.patch(`T/datasources/${id}`, { datasourceOptions: details({ password: MASK }) });
    const moved = await api.patch(`T/datasources/${id}`, { datasourceOptions: details({ host: 'db.example.com' }) });

    expect(renamed.body.datasource).toMatchObject({
      datasourceTitle: 'Renamed',
      datasourceDescription: 'words',
      datasourceTags: ['a', 'b'],
      connectionStatus: 'connected',
    });
    expect(same.body.datasource.connectionStatus).toBe('connected');
    expect(moved.body.datasource).toMatchObject({ connectionStatus: 'unknown', testedAt: null });
  });

  test('keeps the changes of two concurrent updates', async () => {
    const { id } = await aDatasource(cluster, { tenant });
    const answers = await Promise.all([
      api.patch(`T/datasources/${id}`, { datasourceTitle: 'Both' }),
      api.patch(`T/datasources/${id}`, { datasourceDescription: 'both' }),
    ]);

    expect(answers.map(({ status }) => status)).toEqual([200, 200]);
    expect((await api.get(`T/datasources/${id}`)).body.datasource).toMatchObject({
      datasourceTitle: 'Both',
      datasourceDescription: 'both',
    });
  });

  const other = datasourceTypes.find((type) => type !== 'postgresql');
  test('of the type needs options, accepts no mask, and is refused while a query uses the datasource', async ({
    skip,
  }) => {
    skip(!other, 'there is one type only');
    const { id } = await aDatasource(cluster, { tenant });
    const datasourceOptions = findDatasourceType(other ?? '')?.defaults.options;
    const change = (body: object) => api.patch(`T/datasources/${id}`, { datasourceType: other, ...body });
    const query = await aDataQuery(cluster, { tenant, datasource: { id } });

    expect((await change({})).body.error.message).toMatch(/^datasourceOptions: is required/);
    expect(await change({ datasourceOptions })).toMatchObject({ status: 409, body: { error: { code: 'CONFLICT' } } });
    await api.delete(`T/queries/${query.id}`);
    expect(await change({ datasourceOptions })).toMatchObject({
      status: 200,
      body: { datasource: { datasourceType: other } },
    });
  });
});

describe('a copy', () => {
  test('has the secrets of the original, encrypted for its own row', async () => {
    const { id } = (await create({ datasourceTitle: 'x'.repeat(255) })).body.datasource;

    const copied = await api.post(`T/datasources/${id}/clone`);

    const copy = copied.body.datasource;
    expect(copied.status).toBe(200);
    expect(copy.id).not.toBe(id);
    expect(copy.datasourceTitle).toMatch(/^x+ \(Copy\)$/);
    const [before, after] = [await stored(id), await stored(copy.id)];
    expect(after.clear).toEqual(before.clear);
    expect(after.sealed).not.toBe(before.sealed);
    expect((await api.post(`T/datasources/${copy.id}/test`)).body.connectionResult).toBe(true);
  });
});

describe('deleting a datasource', () => {
  test('deletes its data queries and every rule on them, and nothing else', async () => {
    const own = await aTenant(cluster);
    const admin = cluster.as(own.creator).in(own);
    const [gone, kept] = [await aDatasource(cluster, { tenant: own }), await aDatasource(cluster, { tenant: own })];
    const queries = [];
    for (let n = 0; n < 3; n += 1) queries.push(await aDataQuery(cluster, { tenant: own, datasource: gone }));
    const other = await aDataQuery(cluster, { tenant: own, datasource: kept });
    const objects = [`datasource:${gone.id}`, ...queries.map(({ id }) => `dataquery:${id}`)];
    await aMember(cluster, { tenant: own, rules: objects.map((object) => ({ object, action: 'read' })) });

    const deleted = await admin.delete(`T/datasources/${gone.id}`);

    expect(deleted).toMatchObject({
      status: 200,
      body: { deletedDataQueries: 3, message: expect.stringContaining('3') },
    });
    const rules = await cluster.pool.query('select object from policy_rule where tenant_id = $1', [own.id]);
    expect(rules.rows.filter(({ object }) => objects.includes(object))).toEqual([]);
    for (const { id } of queries) expect((await admin.get(`T/queries/${id}`)).status).toBe(404);
    expect((await admin.get(`T/queries/${other.id}`)).status).toBe(200);
    expect((await admin.delete(`T/datasources/${gone.id}`)).status).toBe(404);
  });

  test('while a query is added to it: one of the two happens first', async () => {
    for (let round = 0; round < 5; round += 1) {
      const { id: datasourceID } = await aDatasource(cluster, { tenant });
      const body = { dataQueryTitle: 'Late', datasourceID, dataQueryOptions: { query: 'select 1' } };

      const [deleted, ...created] = await Promise.all([
        api.delete(`T/datasources/${datasourceID}`),
        ...Array.from({ length: 4 }, () => api.post('T/queries', body)),
      ]);

      expect(deleted.status).toBe(200);
      for (const { status } of created) expect([201, 400]).toContain(status);
      expect((await api.get(`T/queries?datasourceID=${datasourceID}`)).body.dataQueries).toEqual([]);
    }
  });
});

describe('testing a connection', () => {
  const tryOut = (body: object, as = api) => as.post('T/datasources/test', { datasourceType: 'postgresql', ...body });

  test('reports success, and stores nothing', async () => {
    const own = await aTenant(cluster);
    const answer = await tryOut({ datasourceOptions: details() }, cluster.as(own.creator).in(own));

    expect(answer).toMatchObject({ status: 200, body: { connectionResult: true, message: expect.any(String) } });
    expect((await cluster.pool.query('select 1 from datasource where tenant_id = $1', [own.id])).rows).toEqual([]);
  });

  test.each([
    ['a wrong password', { password: 'topsecret' }, 'authentication'],
    ['a closed port', { password: 'topsecret', port: 1 }, 'unreachable'],
    ['an address of the inside', { password: 'topsecret', host: '10.0.0.1' }, 'not-allowed'],
  ])('reports %s without the secret', async (_what, more, reason) => {
    const answer = await tryOut({ datasourceOptions: details(more) });

    expect(answer).toMatchObject({ status: 502, body: { error: { code: 'UPSTREAM_FAILED', details: { reason } } } });
    expect(JSON.stringify(answer.body)).not.toContain('topsecret');
  });

  test('uses the stored secret for a mask, if the caller may update the datasource', async () => {
    const { id: datasourceID } = (await create()).body.datasource;
    const datasourceOptions = details({ password: MASK });
    const rules = (...actions: string[]) => actions.map((action) => ({ object: `datasource:${datasourceID}`, action }));
    const editor = await aMember(cluster, { tenant, rules: rules('test', 'update') });
    const reader = await aMember(cluster, { tenant, rules: rules('test', 'read') });

    expect((await tryOut({ datasourceOptions, datasourceID }, cluster.as(editor).in(tenant))).status).toBe(200);
    expect((await tryOut({ datasourceOptions, datasourceID }, cluster.as(reader).in(tenant))).status).toBe(403);
    expect((await tryOut({ datasourceOptions })).body.error.message).toMatch(
      /connectionDetails\.password: is the mask/,
    );
    expect(await tryOut({ datasourceOptions, datasourceID: newID() })).toMatchObject({
      status: 400,
      body: { error: { message: 'datasourceID: there is no such datasource' } },
    });
  });

  test('of a stored datasource stores the result, success or failure', async () => {
    const { id } = (await create()).body.datasource;
    const status = async () => (await api.get(`T/datasources/${id}`)).body.datasource;

    expect((await api.post(`T/datasources/${id}/test`)).body.connectionResult).toBe(true);
    const good = await status();
    await api.patch(`T/datasources/${id}`, { datasourceOptions: details({ password: 'topsecret' }) });
    expect((await api.post(`T/datasources/${id}/test`)).status).toBe(502);
    const bad = await status();

    await using silent = await startTCP();
    await api.patch(`T/datasources/${id}`, {
      datasourceOptions: details({ host: '127.0.0.1', port: silent.port, additionalOptions: { connectTimeout: 1 } }),
    });
    expect(await api.post(`T/datasources/${id}/test`)).toMatchObject({
      status: 504,
      body: { error: { code: 'UPSTREAM_TIMEOUT' } },
    });

    expect(good).toMatchObject({ connectionStatus: 'connected', testedAt: expect.any(String) });
    expect(await status()).toMatchObject({ connectionStatus: 'failed' });
    expect(bad).toMatchObject({ connectionStatus: 'failed', testedAt: expect.any(String) });
  });
});

describe('descriptions of a datasource', () => {
  test('the schemas tell for each type its options, with a form and an example', async () => {
    const { body } = await api.get('T/datasources/schemas');
    const { postgresql } = body.schemas;

    expect(Object.keys(body.schemas).sort()).toEqual([...datasourceTypes].sort());
    expect(postgresql).toMatchObject({
      datasourceType: 'postgresql',
      label: 'PostgreSQL',
      category: 'database',
      data: { connectionOption: 'connectionDetails' },
      schema: {
        properties: { connectionOption: { enum: ['connectionDetails', 'connectionString'] } },
        allOf: [
          {
            if: { properties: { connectionOption: { const: 'connectionDetails' } } },
            // biome-ignore lint/suspicious/noThenProperty: a keyword of JSON Schema
            then: {
              properties: {
                connectionDetails: { properties: { password: { title: 'Password', 'x-secret': true } } },
              },
            },
          },
          // biome-ignore lint/suspicious/noThenProperty: a keyword of JSON Schema
          { then: { properties: { connectionString: { 'x-secret': true } } } },
        ],
      },
    });
    expect(postgresql.uischema.elements).toContainEqual({
      type: 'Control',
      scope: '#/properties/connectionDetails/properties/password',
      options: { format: 'password' },
      rule: expect.objectContaining({ effect: 'SHOW' }),
    });
    expect(Object.keys((await api.get('T/datasources/schemas?datasourceType=postgresql')).body.schemas)).toEqual([
      'postgresql',
    ]);
    expect(await api.get('T/datasources/schemas?datasourceType=nothing')).toMatchObject({
      status: 404,
      body: { error: { code: 'SCHEMA_NOT_FOUND' } },
    });
  });

  test('its structure can be browsed step by step', async () => {
    const { id } = await aDatasource(cluster, { tenant });

    const top = await api.get(`T/datasources/${id}/metadata`);
    const inside = await api.get(`T/datasources/${id}/metadata?path=information_schema`);

    expect(top.body).toMatchObject({ path: [], items: expect.any(Array) });
    expect(inside.body.path).toEqual(['information_schema']);
    expect((await api.get(`T/datasources/${id}/metadata?path=a&path=b&path=`)).status).toBe(400);
  });

  test('its tables are listed with their columns; a type without tables has none', async () => {
    const { id } = await aDatasource(cluster, { tenant });
    const { body } = await api.get(`T/datasources/${id}/tables`);
    const web = await aDatasource(cluster, { tenant, type: 'restapi', options: { baseUrl: cluster.baseURL } });

    const columns = body.tables.flatMap((table: { columns: object[] }) => table.columns);
    expect(columns[0]).toEqual({ name: expect.any(String), type: expect.any(String) });
    expect(body.tables[0].path).toHaveLength(2);
    expect((await api.get(`T/datasources/${web.id}/tables`)).body).toMatchObject({ tables: [], isWhole: true });
  });

  test('its usage names the queries and workflows that the caller may read, and counts the others', async () => {
    const { id } = await aDatasource(cluster, { tenant });
    const [seen, hidden] = [
      await aDataQuery(cluster, { tenant, datasource: { id }, title: 'Seen' }),
      await aDataQuery(cluster, { tenant, datasource: { id }, title: 'Hidden' }),
    ];
    const graph = chain({ ask: { type: 'dataQuery', dataQueryID: hidden.id } });
    const workflow = await aWorkflow(cluster, { tenant, title: 'Asks', ...graph });
    await aWorkflow(cluster, { tenant });
    const member = await aMember(cluster, {
      tenant,
      rules: [`datasource:${id}`, `dataquery:${seen.id}`].map((object) => ({ object, action: 'read' })),
    });

    const all = await api.get(`T/datasources/${id}/usage`);
    const some = await cluster.as(member).in(tenant).get(`T/datasources/${id}/usage`);

    expect(all.body).toMatchObject({
      dataQueries: expect.arrayContaining([{ dataQueryID: hidden.id, dataQueryTitle: 'Hidden' }]),
      workflows: [{ workflowID: workflow.id, workflowTitle: 'Asks' }],
      others: { dataQueries: 0, workflows: 0 },
    });
    expect(some.body).toMatchObject({
      dataQueries: [{ dataQueryID: seen.id, dataQueryTitle: 'Seen' }],
      workflows: [],
      others: { dataQueries: 1, workflows: 1 },
    });
  });

  test('deleting a datasource removes it from the roles that grant it', async () => {
    const { id } = await aDatasource(cluster, { tenant });
    const role = await aRole(cluster, { tenant, can: ['datasource.list'] });
    const assetPermissions = [{ resourceType: 'datasource', resourceID: id, action: 'read' }];
    await api.patch(`T/roles/${role.id}`, { assetPermissions });

    await api.delete(`T/datasources/${id}`);

    expect((await api.get(`T/roles/${role.id}`)).body.role.assetPermissions).toEqual([]);
  });
});

test('the test of a stored datasource signs in anew, although a connection is open', async () => {
  const admin = new pg.Client({ connectionString: testServers.datasourceURL });
  await admin.connect();
  const role = `tested_${newID().replaceAll('-', '')}`;
  await admin.query(`create role ${role} login password 'first'`);
  try {
    const { id } = await aDatasource(cluster, { tenant, options: details({ user: role, password: 'first' }) });
    const query = await aDataQuery(cluster, { tenant, datasource: { id } });
    const run = () => api.post(`T/queries/${query.id}/run`, {});
    expect(await api.post(`T/datasources/${id}/test`)).toMatchObject({ body: { connectionResult: true } });
    expect(await run()).toMatchObject({ status: 200 });

    await admin.query(`alter role ${role} nologin`);

    expect(await api.post(`T/datasources/${id}/test`)).toMatchObject({
      status: 502,
      body: { error: { code: 'UPSTREAM_FAILED' } },
    });
    // The connection that was open is still used.
    expect(await run()).toMatchObject({ status: 200 });
  } finally {
    await admin.query(`drop role ${role}`).finally(() => admin.end());
  }
});
