import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { newID } from '#shared/core/ids.ts';
import { type Answer, type Client, lenient } from '../../../support/client.ts';
import { type Cluster, startCluster } from '../../../support/cluster.ts';
import { countActive } from '../../../support/database.ts';
import { testServers } from '../../../support/environment.ts';
import { aDataQuery, aDatasource, aMember, aTenant, type TestTenant } from '../../../support/factories.ts';
import { startHTTP } from '../../../support/http-server.ts';
import { eventually } from '../../../support/settle.ts';

let cluster: Cluster;
let tenant: TestTenant;
let api: Client;
let datasourceID: string;
beforeAll(async () => {
  cluster = await startCluster({ workers: ['query.runs'] });
  tenant = await aTenant(cluster);
  api = cluster.as(tenant.creator).in(tenant);
  datasourceID = (await aDatasource(cluster, { tenant })).id;
});
afterAll(() => cluster[Symbol.asyncDispose]());

const inputDefinitions = [{ key: 'n', type: 'number', required: true }];

function create(more: object = {}, as = api) {
  const body = { dataQueryTitle: 'Orders', datasourceID, dataQueryOptions: { query: 'select 1 as n' } };
  return as.post('T/queries', { ...body, ...more });
}

/** A stored query, from its SQL and further options. */
async function saved(query: string, options: object = {}): Promise<string> {
  const { body } = await create({ dataQueryOptions: { query, ...options } });
  return body.dataQuery.id;
}

describe('options unknown to the type of the datasource', () => {
  const dataQueryOptions = { query: 'select {{inputs.n}}::int as n', parameters: [1], maxrows: 5, inputDefinitions };
  const parameters = { path: ['dataQueryOptions', 'parameters'], message: 'not known here' };
  const maxRows = { path: ['dataQueryOptions', 'maxrows'], message: 'not known here; did you mean maxRows?' };
  const within = (...prefix: (string | number)[]) =>
    [parameters, maxRows].map(({ path, message }) => ({ path: [...prefix, ...path], message }));

  test('are stored and named, also when the request is repeated', async () => {
    const key = { ...lenient, 'idempotency-key': newID() };
    const body = { dataQueryTitle: 'Orders', datasourceID, dataQueryOptions };
    const first = await api.post('T/queries', body, key);
    const again = await api.post('T/queries', body, key);

    expect(first).toMatchObject({ status: 201, body: { dataQuery: { dataQueryOptions } } });
    expect(first.body.unknownFields).toEqual(within());
    expect(again.headers.get('idempotency-replayed')).toBe('true');
    expect(again.body).toEqual(first.body);
  });

  test('are named by their path in every request with options, and rejected with strict handling', async () => {
    const id = await saved('select 1 as n');
    const item = { dataQueryTitle: 'Orders', datasourceID, dataQueryOptions };
    const requests: [path: (string | number)[], send: (headers?: Record<string, string>) => Promise<Answer>][] = [
      [[], (headers) => api.patch(`T/queries/${id}`, { dataQueryOptions }, headers)],
      [
        [1],
        (headers) => api.post('T/queries/bulk', [{ ...item, dataQueryOptions: { query: 'select 1' } }, item], headers),
      ],
      [['dataQuery'], (headers) => api.patch('T/queries/queryTest', { dataQuery: item, args: { n: 1 } }, headers)],
    ];
    for (const [path, send] of requests) {
      expect(await send()).toMatchObject({
        status: 400,
        body: { error: { details: { issues: within(...path) } } },
      });
      expect((await send(lenient)).body.unknownFields, String(path)).toEqual(within(...path));
    }
    const stays = await api.patch(`T/queries/${id}`, { dataQueryTitle: 'Renamed' });
    expect(stays.body).not.toHaveProperty('unknownFields');
  });
});

describe('creating a data query', () => {
  test('takes the type from the datasource, and gives its creator every permission on it', async () => {
    const rules = [{ object: `datasource:${datasourceID}`, action: 'read' }];
    const member = await aMember(cluster, { tenant, can: ['dataquery.create'], rules });
    const own = cluster.as(member).in(tenant);

    const created = await create({ runOnLoad: true, dataQueryDescription: 'words' }, own);
    const { id } = created.body.dataQuery;

    expect(created).toMatchObject({
      status: 201,
      body: {
        message: expect.any(String),
        dataQuery: {
          id,
          dataQueryID: id,
          tenantID: tenant.id,
          dataQueryTitle: 'Orders',
          dataQueryDescription: 'words',
          dataQueryOptions: { query: 'select 1 as n' },
          datasourceID,
          datasourceType: 'postgresql',
          runOnLoad: true,
          isDisabled: false,
          creatorID: member.id,
        },
      },
    });
    expect((await own.get(`T/queries/${id}`)).body.dataQuery).toEqual(created.body.dataQuery);
    expect((await own.post(`T/queries/${id}/run`)).body.dataQueryResult).toEqual([{ n: 1 }]);
    expect((await own.delete(`T/queries/${id}`)).status).toBe(200);
    const { rows } = await cluster.pool.query('select 1 from policy_rule where object = $1', [`dataquery:${id}`]);
    expect(rows).toEqual([]);
  });

  test('takes the datasource from inside the options as well, and stores it beside them', async () => {
    const dataQueryOptions = { query: 'select 1', datasourceID, datasourceType: 'postgresql' };
    const { status, body } = await api.post('T/queries', { dataQueryTitle: 'Inside', dataQueryOptions });

    expect(status).toBe(201);
    expect(body.dataQuery).toMatchObject({ datasourceID, datasourceType: 'postgresql' });
    expect(body.dataQuery.dataQueryOptions).toEqual({ query: 'select 1' });
  });

  test.each([
    ['no title', { dataQueryTitle: '' }, /^dataQueryTitle: /],
    ['no options', { dataQueryOptions: 'select 1' }, /^dataQueryOptions: /],
    ['a datasource that is not there', { datasourceID: newID() }, /^datasourceID: there is no such datasource$/],
    ['a datasource that is no id', { datasourceID: 'x' }, /^datasourceID: /],
    ['a type that is not the datasource’s', { datasourceType: 'mysql' }, /^datasourceType: .* postgresql$/],
    [
      'a type that is not there',
      { datasourceID: null, datasourceType: 'oracle' },
      /^datasourceType: expected one of .*, received "oracle"$/,
    ],
    ['a type without a datasource', { datasourceID: null, datasourceType: 'postgresql' }, /^datasourceID: is required/],
    ['no SQL', { dataQueryOptions: {} }, /^dataQueryOptions\.query: /],
    [
      'an option of every query that is wrong',
      { dataQueryOptions: { query: 'select 1', timeoutSeconds: 0 } },
      /^dataQueryOptions\.timeoutSeconds: /,
    ],
    [
      'a template that is no path',
      { dataQueryOptions: { query: 'select {{inputs.a + 1}}' } },
      /^dataQueryOptions\.query: \{\{inputs\.a \+ 1\}\}/,
    ],
    [
      'an input that is not declared',
      { dataQueryOptions: { query: 'select {{inputs.x}}', inputDefinitions } },
      /^dataQueryOptions\.query: there is no input "x"/,
    ],
    [
      'a default that does not fit its input',
      {
        dataQueryOptions: {
          query: 'select 1',
          inputDefinitions: [...inputDefinitions, { key: 'd', type: 'number', default: 'x' }],
        },
      },
      /^dataQueryOptions\.inputDefinitions\.1\.default: expected a number/,
    ],
    [
      'two inputs with one name',
      { dataQueryOptions: { query: 'select 1', inputDefinitions: [...inputDefinitions, ...inputDefinitions] } },
      /^dataQueryOptions\.inputDefinitions\.1\.key: there is another input "n"/,
    ],
    [
      'a placeholder of the server',
      { dataQueryOptions: { query: 'select $1' } },
      /^dataQueryOptions\.query: .*instead of the placeholder/,
    ],
  ])('refuses %s and names the path', async (_what, more, message) => {
    expect(await create(more)).toMatchObject({
      status: 400,
      body: { error: { code: 'VALIDATION_ERROR', message: expect.stringMatching(message) } },
    });
  });

  test('in bulk is all or nothing, and errors are named by their index in the list', async () => {
    const good = { dataQueryTitle: 'Good', datasourceID, dataQueryOptions: { query: 'select 1' } };
    const bad = { ...good, dataQueryOptions: { query: 'select $1' } };
    const before = (await api.get('T/queries')).body.totalCount;

    const refused = await api.post('T/queries/bulk', [good, bad, { ...good, datasourceID: newID() }, good]);
    const malformed = await api.post('T/queries/bulk', [good, { ...good, dataQueryTitle: 1 }]);
    const created = await api.post('T/queries/bulk', [good, { ...good, dataQueryTitle: 'Second' }]);

    expect(refused.status).toBe(400);
    expect(refused.body.error.details.issues.map(({ path }: { path: unknown[] }) => path)).toEqual([
      [1, 'dataQueryOptions', 'query'],
      [2, 'datasourceID'],
    ]);
    expect(malformed.body.error.message).toMatch(/^1\.dataQueryTitle: /);
    expect((await api.post('T/queries/bulk', [])).status).toBe(400);
    expect(created).toMatchObject({
      status: 201,
      body: { dataQueries: [{ dataQueryTitle: 'Good' }, { dataQueryTitle: 'Second' }] },
    });
    expect((await api.get('T/queries')).body.totalCount).toBe(before + 2);
  });
});

describe('a query that names no datasource', () => {
  const dataQueryOptions = { query: 'select current_database() as name, {{inputs.n}}::int + 1 as n', inputDefinitions };
  const body = { dataQueryTitle: 'Own', dataQueryOptions };

  test("uses the tenant's own database", async () => {
    const other = await aTenant(cluster);
    const names = [];
    for (const each of [tenant, other]) {
      const own = cluster.as(each.creator).in(each);
      const { dataQueryID } = (await own.post('T/queries', body)).body.dataQuery;
      const { status, body: answer } = await own.post(`T/queries/${dataQueryID}/run`, { inputValues: { n: 1 } });
      expect(status, JSON.stringify(answer)).toBe(200);
      expect(answer).toMatchObject({ dataQueryResult: [{ n: 2 }], columns: [{ type: 'name' }, { type: 'integer' }] });
      names.push(answer.dataQueryResult[0].name);
    }

    const { rows } = await cluster.pool.query(
      'select database_name from tenant_database where tenant_id = any($1) order by array_position($1, tenant_id)',
      [[tenant.id, other.id]],
    );
    expect(names).toEqual(rows.map(({ database_name }) => database_name));
  });

  test('can be tested, explained and read page by page', async () => {
    const dataQuery = { dataQueryOptions: { query: 'select generate_series(1, 5) as n', rowsPerPage: 2 } };

    const tried = await api.patch('T/queries/queryTest', { dataQuery });
    const explained = await api.patch('T/queries/queryTest?explain=true', { dataQuery });
    const { dataQueryID } = (await api.post('T/queries', { dataQueryTitle: 'Pages', ...dataQuery })).body.dataQuery;
    const paged = await api.post(`T/queries/${dataQueryID}/run`);

    expect(tried.body).toMatchObject({ dataQueryResult: [1, 2, 3, 4, 5].map((n) => ({ n })) });
    expect(explained.body).toMatchObject({ dataQueryResult: [{ Plan: { 'Node Type': 'ProjectSet' } }] });
    expect(paged.body).toMatchObject({ dataQueryResult: [{ n: 1 }, { n: 2 }] });
  });

  test('requires the permission to execute SQL there, to be written and to be tested', async () => {
    const can = ['dataquery.create', 'dataquery.update', 'dataquery.test', 'datasource.read'] as const;
    const rules = [{ object: 'database:*', action: 'execute' }];
    const may = cluster.as(await aMember(cluster, { tenant, can, rules })).in(tenant);
    const mayNot = cluster.as(await aMember(cluster, { tenant, can })).in(tenant);

    for (const more of [{}, { datasourceType: 'tenantdb' }]) {
      expect(await may.post('T/queries', { ...body, ...more })).toMatchObject({
        status: 201,
        body: { dataQuery: { datasourceID: null, datasourceType: 'tenantdb' } },
      });
      const refused = [
        await mayNot.post('T/queries', { ...body, ...more }),
        await mayNot.post('T/queries/bulk', [{ ...body, ...more }]),
        await mayNot.patch('T/queries/queryTest', { dataQuery: { dataQueryOptions, ...more }, inputValues: { n: 1 } }),
      ];
      for (const answer of refused)
        expect(answer).toMatchObject({ status: 403, body: { error: { code: 'PERMISSION_DENIED' } } });
    }
  });
});

describe('a caller who may not read the datasource', () => {
  test('can neither write, copy nor test a query on it, but can run one with the permission to', async () => {
    const id = await saved('select 1 as n');
    const member = await aMember(cluster, {
      tenant,
      can: ['dataquery.create', 'dataquery.read', 'dataquery.update', 'dataquery.test', 'dataquery.execute'],
    });
    const own = cluster.as(member).in(tenant);
    const query = { dataQueryTitle: 'Orders', datasourceID, dataQueryOptions: { query: 'select 2' } };

    const refused = [
      await own.post('T/queries', query),
      await own.post('T/queries', {
        ...query,
        datasourceID: undefined,
        dataQueryOptions: { datasourceID, query: 'select 2' },
      }),
      await own.post('T/queries/bulk', [query]),
      await own.post(`T/queries/${id}/clone`),
      await own.patch(`T/queries/${id}`, { dataQueryOptions: { query: 'select 2' } }),
      await own.patch(`T/queries/${id}`, { datasourceID }),
      await own.patch('T/queries/queryTest', { dataQuery: query }),
    ];

    for (const answer of refused)
      expect(answer).toMatchObject({ status: 403, body: { error: { code: 'PERMISSION_DENIED' } } });
    expect((await own.patch(`T/queries/${id}`, { dataQueryTitle: 'Only the title' })).status).toBe(200);
    expect((await own.post(`T/queries/${id}/run`)).body.dataQueryResult).toEqual([{ n: 1 }]);
    expect((await own.post(`T/queries/${id}/queryTest`)).body.dataQueryResult).toEqual([{ n: 1 }]);
  });
});

describe('a stored query', () => {
  test('is listed for callers who may read it, by title, folder and datasource', async () => {
    const own = await aTenant(cluster);
    const admin = cluster.as(own.creator).in(own);
    const datasource = await aDatasource(cluster, { tenant: own });
    const [first, second] = [
      await aDataQuery(cluster, { tenant: own, datasource, title: 'Orders of today' }),
      await aDataQuery(cluster, { tenant: own, title: 'Customers' }),
    ];
    const rules = [{ object: `dataquery:${first.id}`, action: 'read' }];
    const reader = await aMember(cluster, { tenant: own, can: ['dataquery.list'], rules });
    const ids = async (client: Client, query = '') =>
      (await client.get(`T/queries${query}`)).body.dataQueries.map(({ id }: { id: string }) => id);

    expect(await ids(admin)).toEqual([second.id, first.id]);
    expect(await ids(admin, '?search=orders')).toEqual([first.id]);
    expect(await ids(admin, `?datasourceID=${datasource.id}`)).toEqual([first.id]);
    expect(await ids(admin, `?folderID=${newID()}`)).toEqual([]);
    expect(await ids(cluster.as(reader).in(own))).toEqual([first.id]);
    expect((await admin.get('T/queries')).body).toMatchObject({ totalCount: 2, page: 1, pageSize: 1000 });
  });

  test('changes only the fields of an update, and can move to another datasource', async () => {
    const id = await saved('select 1 as n');
    const other = await aDatasource(cluster, { tenant });

    const renamed = await api.patch(`T/queries/${id}`, { dataQueryTitle: 'Renamed', runOnLoad: true });
    const rewritten = await api.patch(`T/queries/${id}`, { dataQueryOptions: { query: 'select 2 as n' } });
    const moved = await api.patch(`T/queries/${id}`, { datasourceID: other.id });
    const refused = await api.patch(`T/queries/${id}`, { dataQueryOptions: { query: '' } });

    expect(renamed.body.dataQuery).toMatchObject({ dataQueryTitle: 'Renamed', runOnLoad: true, datasourceID });
    expect(rewritten.body.dataQuery).toMatchObject({
      dataQueryTitle: 'Renamed',
      dataQueryOptions: { query: 'select 2 as n' },
    });
    expect(moved.body.dataQuery).toMatchObject({
      datasourceID: other.id,
      dataQueryOptions: { query: 'select 2 as n' },
    });
    expect(refused.body.error.message).toMatch(/^dataQueryOptions\.query: /);
    expect((await api.post(`T/queries/${id}/run`)).body.dataQueryResult).toEqual([{ n: 2 }]);
  });

  test('is copied with all of its fields', async () => {
    const id = await saved('select 3 as n', { cacheSeconds: 5 });
    const { status, body } = await api.post(`T/queries/${id}/clone`);

    expect(status).toBe(200);
    expect(body.dataQuery).toMatchObject({
      dataQueryTitle: 'Orders (Copy)',
      dataQueryOptions: { query: 'select 3 as n', cacheSeconds: 5 },
      datasourceID,
    });
    expect(body.dataQuery.id).not.toBe(id);
  });
});

describe('running a query', () => {
  test('answers with the result, its columns and its size, for inputs of any name', async () => {
    const id = await saved('select {{inputs.n}}::int + 1 as n', { inputDefinitions });

    for (const body of [{ inputValues: { n: 1 } }, { args: { n: '1' } }])
      expect(await api.post(`T/queries/${id}/run`, body)).toMatchObject({
        status: 200,
        body: {
          success: true,
          dataQueryResult: [{ n: 2 }],
          columns: [{ name: 'n', type: expect.any(String) }],
          rowCount: 1,
          durationMs: expect.any(Number),
          isCached: false,
        },
      });
  });

  test('binds values with any characters', async () => {
    const id = await saved("select {{inputs.t}}::text as t, 'x {{inputs.t}}' as u");
    for (const t of ["'; drop table datasource; --", '$1', '{{inputs.t}}', '\\', '"'])
      expect((await api.post(`T/queries/${id}/run`, { args: { t } })).body.dataQueryResult).toEqual([
        { t, u: `x ${t}` },
      ]);
  });

  test('refuses missing inputs and inputs of another type, by name', async () => {
    const id = await saved('select {{inputs.n}}::int as n', { inputDefinitions });
    for (const action of ['run', 'queryTest'])
      for (const field of ['args', 'inputValues'])
        for (const inputs of [{}, { n: 'many' }])
          expect(await api.post(`T/queries/${id}/${action}`, { [field]: inputs })).toMatchObject({
            status: 400,
            body: {
              error: {
                code: 'VALIDATION_ERROR',
                message: expect.stringMatching(new RegExp(`^${field}\\.n: `)),
                details: { issues: [{ path: [field, 'n'] }] },
              },
            },
          });
    expect((await api.post(`T/queries/${id}/run`, { args: { n: 1 }, inputValues: {} })).body.error.message).toMatch(
      /^args: differs from `inputValues`: /,
    );
    expect((await api.post(`T/queries/${id}/run`)).body.error.message).toMatch(/^inputValues\.n: /);
  });

  test('names the field of a stored query that cannot be executed', async () => {
    const id = await saved('copy (select 1) to stdout');
    expect((await api.post(`T/queries/${id}/run`)).body.error).toMatchObject({
      code: 'VALIDATION_ERROR',
      message: expect.stringMatching(/^dataQueryOptions\.query: COPY /),
    });
  });

  test('answers with the error of the server', async () => {
    const id = await saved('select * from not_there');
    expect(await api.post(`T/queries/${id}/run`)).toMatchObject({
      status: 400,
      body: {
        error: { code: 'DB_ERROR', message: expect.stringContaining('not_there'), details: { postgres_code: '42P01' } },
      },
    });
  });

  test('stops at its row limit and its time limit, and is refused when disabled', async () => {
    const many = await saved('select generate_series(1, 100) as n', { maxRows: 3 });
    const slow = await saved('select pg_sleep(300)', { timeoutSeconds: 0.3 });
    const off = await aDataQuery(cluster, { tenant, isDisabled: true });

    expect((await api.post(`T/queries/${many}/run`)).body).toMatchObject({ rowCount: 3, truncated: true });
    expect(await api.post(`T/queries/${slow}/run`)).toMatchObject({
      status: 504,
      body: { error: { code: 'UPSTREAM_TIMEOUT', message: expect.stringContaining('0.3 s') } },
    });
    for (const path of ['run', 'queryTest']) expect((await api.post(`T/queries/${off.id}/${path}`)).status).toBe(409);
  });

  test('transforms the result with its script', async () => {
    const id = await saved('select generate_series(1, 3) as n', {
      transform: 'return data.map(({ n }) => n * inputs.by);',
    });
    const { body } = await api.post(`T/queries/${id}/run`, { args: { by: 2 } });
    expect(body.dataQueryResult).toEqual([2, 4, 6]);
  });

  test('serves cached answers for the same inputs, and a fresh one on request or in a test', async () => {
    const id = await saved('select clock_timestamp() as at, {{inputs.n}}::int as n', { cacheSeconds: 60 });
    const run = async (path: string, n: number) => (await api.post(`T/queries/${id}/${path}`, { args: { n } })).body;

    const first = await run('run', 1);
    const again = await run('run', 1);

    expect(first.isCached).toBe(false);
    expect(again).toMatchObject({ isCached: true, dataQueryResult: first.dataQueryResult });
    expect((await run('run', 2)).isCached).toBe(false);
    for (const path of ['run?fresh=true', 'queryTest']) {
      const fresh = await run(path, 1);
      expect(fresh.isCached).toBe(false);
      expect(fresh.dataQueryResult).not.toEqual(first.dataQueryResult);
    }
  });

  test('is explained by the server without being executed', async () => {
    const id = await saved('select pg_sleep(300), {{inputs.n}}::int');
    const { status, body } = await api.post(`T/queries/${id}/run?explain=true`, { args: { n: 1 } });

    expect(status).toBe(200);
    expect(JSON.stringify(body.dataQueryResult)).toContain('Plan');
    expect((await api.get(`T/queries/${id}/runs`)).body.runs).toEqual([]);
  });

  test('with many rows can be read page by page by its caller until the result expires', async () => {
    const id = await saved("select n, repeat('ä', 20) as t from generate_series(1, {{inputs.rows}}) as n", {
      rowsPerPage: 10,
      inputDefinitions: [{ key: 'rows', type: 'number' }],
    });
    const run = (body: object, as = api) => as.post(`T/queries/${id}/run`, body);
    const numbers = ({ body }: { body: { dataQueryResult: { n: number }[] } }) =>
      body.dataQueryResult.map(({ n }) => n);

    const first = await run({ args: { rows: 25 } });
    expect(first.body).toMatchObject({ rowCount: 10, totalCount: 25, isCached: false, columns: [{}, {}] });
    const second = await run({ cursor: first.body.nextCursor });
    expect(second.body).toMatchObject({ rowCount: 10, isCached: true });
    const third = await run({ cursor: second.body.nextCursor });
    expect(third.body).toMatchObject({ rowCount: 5, nextCursor: null });
    expect([first, second, third].flatMap(numbers)).toEqual(Array.from({ length: 25 }, (_, index) => index + 1));

    // Another caller has results of their own, and so has each query.
    const other = cluster.as(await aMember(cluster, { tenant, can: ['dataquery.execute'] })).in(tenant);
    const another = await saved('select 1 as n', { rowsPerPage: 10 });
    for (const answer of [
      await run({ cursor: first.body.nextCursor }, other),
      await api.post(`T/queries/${another}/run`, { cursor: first.body.nextCursor }),
      await run({ cursor: first.body.nextCursor.replace(/\.2\.3$/, '.4.4') }),
    ])
      expect(answer).toMatchObject({ status: 404, body: { error: { code: 'NOT_FOUND' } } });
    expect((await run({ cursor: 'x' })).body.error.message).toMatch(/^cursor: must be the nextCursor/);

    const { rows } = await cluster.pool.query('select sealed from result_page where source = $1', [`dataquery:${id}`]);
    expect(rows).toHaveLength(2);
    expect(JSON.stringify(rows)).not.toContain('ä');
    await cluster.pool.query("update result_page set expires_at = now() - interval '1 s' where source = $1", [
      `dataquery:${id}`,
    ]);
    expect((await run({ cursor: first.body.nextCursor })).status).toBe(404);

    // A result of one page is not kept, nor is one that failed half way.
    await cluster.pool.query('delete from result_page');
    expect((await run({ args: { rows: 10 } })).body).toMatchObject({ rowCount: 10, totalCount: 10, nextCursor: null });
    const broken = await saved('select 10 / (25 - n) as n from generate_series(1, 30) as n', { rowsPerPage: 10 });
    expect((await api.post(`T/queries/${broken}/run`)).body.error.code).toBe('DB_ERROR');
    expect((await cluster.pool.query('select 1 from result_page')).rows).toEqual([]);
  });

  test('in pages is neither cached nor transformed, and the oldest results of a tenant are deleted first', async () => {
    for (const [options, message] of [
      [{ rowsPerPage: 10, cacheSeconds: 10 }, /rowsPerPage: cannot be used with cacheSeconds/],
      [{ rowsPerPage: 10, transform: 'return 1' }, /rowsPerPage: cannot be used with transform/],
      [{ rowsPerPage: 10_001 }, /rowsPerPage: /],
    ] as const) {
      const { status, body } = await create({ dataQueryOptions: { query: 'select 1', ...options } });
      expect({ status, message: body.error.message }).toEqual({ status: 400, message: expect.stringMatching(message) });
    }

    const id = await saved('select n from generate_series(1, 3) as n', { rowsPerPage: 1 });
    const cursors: string[] = [];
    for (let n = 0; n < 12; n += 1) cursors.push((await api.post(`T/queries/${id}/run`)).body.nextCursor);
    const statuses = [];
    for (const cursor of cursors) statuses.push((await api.post(`T/queries/${id}/run`, { cursor })).status);
    expect(statuses).toEqual([404, 404, ...Array(10).fill(200)]);
  });

  test('with an Idempotency-Key is executed once, and passes the same key upstream in every attempt', async () => {
    await using server = await startHTTP();
    const options = { baseUrl: server.origin };
    const { id: restID } = await aDatasource(cluster, { tenant, type: 'restapi', options });
    const dataQueryOptions = { apiEndpoint: '/orders', method: 'POST', body: '{}' };
    const { body } = await create({ datasourceID: restID, dataQueryOptions });
    const run = (key: string) => api.post(`T/queries/${body.dataQuery.id}/run`, undefined, { 'Idempotency-Key': key });

    const [first, again, other] = [await run('one'), await run('one'), await run('two')];

    expect(again.body).toEqual(first.body);
    expect(first.status).toBe(200);
    expect(other.status).toBe(200);
    const keys = server.seen.map(({ headers }) => headers['idempotency-key']);
    expect(keys).toEqual([expect.stringMatching(/^[\w-]{43}$/), expect.stringMatching(/^[\w-]{43}$/)]);
    expect(new Set(keys).size).toBe(2);
  });

  test('is executed again when its datasource has changed, despite the cache', async () => {
    const options = (application: string) => ({
      connectionOption: 'connectionString',
      connectionString: testServers.datasourceURL.replace(/\/[^/]*$/, `/${application}`),
    });
    const database = new URL(testServers.datasourceURL).pathname.slice(1);
    const { id } = await aDatasource(cluster, { tenant, options: options(database) });
    const dataQueryOptions = { query: 'select current_database() as name', cacheSeconds: 600 };
    const { body } = await create({ datasourceID: id, dataQueryOptions });
    const run = () => api.post(`T/queries/${body.dataQuery.id}/run`);
    await run();
    expect((await run()).body).toMatchObject({ isCached: true, dataQueryResult: [{ name: database }] });

    await api.patch(`T/datasources/${id}`, { datasourceOptions: options('template1') });

    expect((await run()).body).toMatchObject({ isCached: false, dataQueryResult: [{ name: 'template1' }] });
  });

  test('is explained to callers who may read it, and to no others', async () => {
    const id = await saved('select 1 as hidden');
    const runner = cluster.as(await aMember(cluster, { tenant, can: ['dataquery.execute'] })).in(tenant);

    expect((await runner.post(`T/queries/${id}/run`)).status).toBe(200);
    expect((await runner.post(`T/queries/${id}/run?explain=true`)).status).toBe(403);
  });

  test.each([
    ['return data.map(', /^dataQueryOptions.transform: SyntaxError/],
    ['return 1n', /^dataQueryOptions.transform: /],
    ['throw new Error("no")', /^dataQueryOptions.transform: .*no/],
  ])('whose script is %s names the script in the error', async (transform, message) => {
    const id = await saved('select 1 as n', { transform });

    expect(await api.post(`T/queries/${id}/run`)).toMatchObject({
      status: 400,
      body: { error: { code: 'VALIDATION_ERROR', message: expect.stringMatching(message) } },
    });
  });

  test('accepts unsafe integers as texts, and refuses them as numbers', async () => {
    const id = await saved('select {{inputs.n}}::numeric as n', { inputDefinitions: [{ key: 'n', type: 'number' }] });
    const run = (n: string) => api.post(`T/queries/${id}/run`, `{"args":{"n":${n}}}`);

    for (const [sent, bound] of [
      ['"12345678901234567890.5"', '12345678901234567890.5'],
      ['"0.10000000000000000001"', '0.10000000000000000001'],
      ['"42"', '42'],
      ['9007199254740991', '9007199254740991'],
    ])
      expect((await run(sent ?? '')).body.dataQueryResult).toEqual([{ n: bound }]);
    expect(await run('9007199254740993')).toMatchObject({
      status: 400,
      body: { error: { message: 'args.n: 9007199254740993 is more than a JSON number holds: send it as a text' } },
    });
  });

  test('with many numbers is answered without delaying other callers', async () => {
    const id = await saved('select n from generate_series(1, 300000) as n', { maxRows: 300_000 });
    const other = cluster.as(undefined);
    const answer = api.post(`T/queries/${id}/run`);
    let isOver = false;
    let answered = 0;
    const watching = (async () => {
      for (; !isOver; answered += 1) await other.get('/health');
    })();
    const { body } = await answer;
    isOver = true;
    await watching;

    expect(body).toMatchObject({ rowCount: 300_000 });
    expect(answered).toBeGreaterThan(10);
  });

  test('with an Idempotency-Key is not sent again because of the target of a redirect', async () => {
    await using server = await startHTTP(
      (_request, response) => void response.writeHead(303, { location: 'http://10.0.0.1/' }).end(),
    );
    const { id: restID } = await aDatasource(cluster, {
      tenant,
      type: 'restapi',
      options: { baseUrl: server.origin },
    });
    const dataQueryOptions = { apiEndpoint: '/orders', method: 'POST', body: '{}' };
    const { body } = await create({ datasourceID: restID, dataQueryOptions });
    const run = () => api.post(`T/queries/${body.dataQuery.id}/run`, undefined, { 'Idempotency-Key': 'redirected' });

    const [first, again] = [await run(), await run()];

    expect(first).toMatchObject({
      status: 502,
      body: { error: { details: { reason: 'not-allowed', sent: true } } },
    });
    expect(again).toMatchObject({ status: 409, body: { error: { message: expect.stringMatching(/unknown/) } } });
    expect(server.seen).toHaveLength(1);
  });

  test('that is not stored is taken from the request', async () => {
    const test = (dataQuery: object, more: object = {}) => api.patch('T/queries/queryTest', { dataQuery, ...more });
    const dataQueryOptions = { query: 'select {{inputs.n}}::int as n' };

    expect(await test({ datasourceID, dataQueryOptions }, { inputValues: { n: 5 } })).toMatchObject({
      status: 200,
      body: { dataQueryResult: [{ n: 5 }], isCached: false },
    });
    expect(
      (await test({ dataQueryOptions: { ...dataQueryOptions, datasourceID } }, { args: { n: 6 } })).body,
    ).toMatchObject({
      dataQueryResult: [{ n: 6 }],
    });
    expect((await test({ datasourceID, dataQueryOptions: { query: 'select $1' } })).body.error.message).toMatch(
      /^dataQuery\.dataQueryOptions\.query: /,
    );
    const inputDefinitions = [{ key: 'n', type: 'number', required: true }];
    const typed = { datasourceID, dataQueryOptions: { ...dataQueryOptions, inputDefinitions } };
    expect((await test(typed, { args: { n: 'many' } })).body.error.message).toMatch(/^args\.n: /);
    expect(
      (await test({ datasourceID, dataQueryOptions: { query: 'copy (select 1) to stdout' } })).body.error,
    ).toMatchObject({
      message: expect.stringMatching(/^dataQuery\.dataQueryOptions\.query: COPY /),
      details: { issues: [{ path: ['dataQuery', 'dataQueryOptions', 'query'] }] },
    });
    expect((await test({ datasourceID: newID(), dataQueryOptions })).body.error.message).toBe(
      'dataQuery.datasourceID: there is no such datasource',
    );
  });

  test('ends at the server when the client disconnects', async () => {
    const marker = `gone_${newID().replaceAll('-', '')}`;
    const id = await saved(`select pg_sleep(300) as ${marker}`);
    const client = new AbortController();
    const url = `${cluster.baseURL}/api/v1/tenants/${tenant.id}/queries/${id}/run`;
    const headers = { authorization: `Bearer ${await cluster.tokenFor(tenant.creator)}` };

    const asked = fetch(url, { method: 'POST', headers, signal: client.signal }).catch(() => 'gone');
    await eventually(async () => expect(await countActive(marker)).toBe(1));
    client.abort();

    expect(await asked).toBe('gone');
    await eventually(async () => expect(await countActive(marker)).toBe(0));
  });

  test('is recorded with its caller, duration, size and error', async () => {
    const id = await saved('select 1 / {{inputs.n}}::int as n');
    for (const n of [1, 0, 2]) await api.post(`T/queries/${id}/run`, { args: { n } });
    const list = async (query = '') => (await api.get(`T/queries/${id}/runs${query}`)).body;

    await eventually(async () => expect((await list()).totalCount).toBe(3));
    const { runs } = await list();
    const first = await list('?limit=2');
    const rest = await list(`?limit=2&cursor=${first.nextCursor}`);

    expect(runs.map(({ error }: { error: { code: string } | null }) => error?.code ?? null)).toEqual([
      null,
      'DB_ERROR',
      null,
    ]);
    expect(runs[0]).toMatchObject({
      dataQueryID: id,
      datasourceID,
      datasourceType: 'postgresql',
      caller: { type: 'user', id: tenant.creator.id, origin: 'direct' },
      rowCount: 1,
      isCached: false,
    });
    expect([...first.runs, ...rest.runs]).toEqual(runs);
    expect(rest.nextCursor).toBeNull();
  });
});

test('the schemas describe the queries of each type, and the options common to all', async () => {
  const { body } = await api.get('T/queries/schemas?datasourceType=postgresql');

  expect(body.schemas.postgresql).toMatchObject({
    datasourceType: 'postgresql',
    schema: {
      properties: { query: { title: 'SQL' }, timeoutSeconds: { default: 60 }, inputDefinitions: { type: 'array' } },
    },
    data: { query: 'select 1', timeoutSeconds: 60, maxRows: 10_000, cacheSeconds: 0 },
  });
  expect(body.schemas.postgresql.uischema.elements).toContainEqual({
    type: 'Control',
    scope: '#/properties/query',
    options: { multi: true, language: 'sql' },
  });
  expect((await api.get('T/queries/schemas?datasourceType=nothing')).status).toBe(404);
});
