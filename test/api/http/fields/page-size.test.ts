import { afterAll, beforeAll, expect, test } from 'vitest';
import { holdVersion, readLatestVersions, requireVersionsFit } from '#api/graphs/workflow-versions.ts';
import { requireFits, textSizeOf } from '#api/http/fields/page-size.ts';
import { findPage } from '#api/http/fields/paging.ts';
import { requireActionsFit } from '#api/resources/listeners/find.ts';
import { readValues } from '#api/resources/workflow-instances/run-values.ts';
import { readTimeline } from '#api/resources/workflow-instances/timeline.ts';
import { readWorkflow } from '#api/resources/workflows/read.ts';
import { tenantEntityManager } from '#api/tenant/entity-manager.ts';
import { newID } from '#shared/core/ids.ts';
import { onPool } from '#shared/db/query.ts';
import { Listener } from '#shared/entities/tables/listener.ts';
import { type Cluster, startCluster } from '../../../support/cluster.ts';
import { explaining } from '../../../support/explaining.ts';
import { aTenant, type TestTenant } from '../../../support/factories.ts';
import { reservedBy } from '../../../support/reserved-bytes.ts';
import { paramFixture } from '../../../support/route-fixtures.ts';
import { statementsOf } from '../../../support/statements.ts';

let cluster: Cluster;
let tenant: TestTenant;

beforeAll(async () => {
  cluster = await startCluster({ workers: false });
  tenant = await aTenant(cluster);
});
afterAll(() => cluster[Symbol.asyncDispose]());

/** Four of them are more than a page holds. Postgres stores it in a small part of its size. */
const TEXT = `repeat('x', 4500000)`;
const NOTES = `jsonb_build_object('notes', ${TEXT})`;
/** Two of them are more than a page holds. */
const LONG_NOTES = `jsonb_build_object('notes', repeat('x', 8500000))`;

const client = () => cluster.as(tenant.creator).in(tenant);

test.each([
  { path: 'queries', list: 'dataQueries', fixture: 'dataQueryID', large: 'data_query.data_query_options' },
  { path: 'datasources', list: 'datasources', fixture: 'datasourceID', large: 'datasource.datasource_options' },
  { path: 'cronjobs', list: 'cronJobs', fixture: 'cronJobID', large: 'cron_job.cron_job_config' },
  { path: 'dashboards', list: 'dashboards', fixture: 'dashboardID', large: 'dashboard.dashboard_config' },
  { path: 'app-pages', list: 'appPages', fixture: 'appPageID', large: 'app_page.app_page_config' },
  { path: 'listeners', list: 'listeners', fixture: 'listenerID', large: 'listener.listener_config' },
  {
    path: 'workflows/data-collection',
    list: 'requests',
    fixture: 'collectionRequestID',
    large: 'collection_request.submitted_data',
  },
] as const)(
  'a page of $path that is too large is refused before it is read',
  async ({ path, list, fixture, large }) => {
    const ids: string[] = [];
    for (let n = 0; n < 4; n += 1) ids.unshift(await paramFixture(fixture)(cluster, tenant));
    const shown = async (query: string) => {
      const { body } = await client().get(`T/${path}?${query}`);
      return {
        ...body,
        ids: body[list].map(({ id, collectionRequestID = id }: Record<string, string>) => collectionRequestID),
      };
    };
    const all = await shown('pageSize=100');
    expect(all.ids.slice(0, 4)).toEqual(ids);
    const [table, column] = large.split('.');
    // The oldest two are large, so that few of the pages below are.
    await cluster.pool.query(
      `update ${table} set ${column} = coalesce(${column}, '{}') || ${LONG_NOTES} where id = any($1::uuid[])`,
      [ids.slice(2)],
    );

    await isRefused(`T/${path}?pageSize=4`);
    await isRefused(`T/${path}?limit=4`);
    await isRefused(`T/${path}?pageSize=2&page=2`);
    const { totalCount } = all;
    expect(await shown('pageSize=2')).toMatchObject({ ids: ids.slice(0, 2), totalCount });
    const { ids: first, nextCursor } = await shown('limit=1');
    expect(first).toEqual(ids.slice(0, 1));
    expect((await shown(`limit=2&cursor=${nextCursor}`)).ids).toEqual(ids.slice(1, 3));
  },
);

test('a page of listeners is refused when their actions are too large together', async () => {
  const { id } = (await client().get('T/listeners?limit=1')).body.listeners[0];
  await cluster.pool.query('update listener set listener_config = $1', ['{}']);
  expect((await client().get('T/listeners')).status).toBe(200);
  await cluster.pool.query(
    `insert into listener_action (id, tenant_id, listener_id, action_type, action_config)
     select gen_random_uuid(), $1, $2, 'filter', ${NOTES} from generate_series(1, 4)`,
    [tenant.id, id],
  );

  await isRefused('T/listeners');
});

test('a page of roles that is too large is refused before it is read', async () => {
  for (let n = 0; n < 4; n += 1) await paramFixture('roleID')(cluster, tenant);
  expect((await client().get('T/roles')).status).toBe(200);
  await cluster.pool.query(
    `update role set asset_permissions = jsonb_build_array(${TEXT}) where tenant_id is not null`,
  );

  await isRefused('T/roles');
});

test('a page of workflows that is too large is refused before it is read, also without graphs', async () => {
  const elsewhere = await aTenant(cluster);
  const api = cluster.as(elsewhere.creator).in(elsewhere);
  for (const title of ['a', 'b', 'c', 'd']) await api.post('T/workflows', { title, draft: true });
  expect((await api.get('T/workflows')).body.workflows).toHaveLength(4);
  await cluster.pool.query(
    `insert into workflow_version (id, tenant_id, workflow_id, number, nodes, edges, options, created_at)
     select gen_random_uuid(), tenant_id, workflow_id, number + 1, nodes, edges, options || ${NOTES}, now()
     from workflow_version where tenant_id = $1`,
    [elsewhere.id],
  );

  await isRefused('T/workflows', api);
  await isRefused('T/workflows?fields=summary', api);
  expect((await api.get('T/workflows?limit=1')).body.workflows).toMatchObject([{ title: 'd', versionNumber: 2 }]);
});

test('the statements read the rows of the page, and make no text beyond the limit, beside empty tables and filled ones', async () => {
  const rowsRead = new Map<string, number>();
  const pool = explaining(cluster.pool, rowsRead);
  const page = { table: 'data_query', columns: ['data_query_options'] };
  const measured = (ids: string[]) => ids.map((id) => ({ id, stored: 1_000_000 }));
  const unknown = [newID(), newID()];
  const wanted = { workflowIDs: unknown, withGraphs: true };
  await requireFits(onPool(pool), { ...page, rows: measured(unknown) });
  await requireVersionsFit(pool, tenant.id, wanted);
  await readLatestVersions(pool, tenant.id, wanted);
  const { rows } = await cluster.pool.query<{ id: string }>(
    `insert into data_query (id, tenant_id, creator_id, data_query_title, data_query_options, datasource_id, datasource_type, created_at, updated_at)
     select gen_random_uuid(), tenant_id, creator_id, n, case when n <= 20 then ${NOTES} else '{}' end, datasource_id, datasource_type, now(), now()
     from generate_series(1, 5000) n cross join (select * from data_query limit 1) one returning id`,
  );
  await cluster.pool.query(
    `insert into workflow_version (id, tenant_id, workflow_id, number, nodes, edges, options, created_at)
     select gen_random_uuid(), $1, gen_random_uuid(), 1, '[]', '[]', '{}', now() from generate_series(1, 5000)`,
    [tenant.id],
  );
  await cluster.pool.query('analyze data_query, workflow_version');

  await expect(
    requireFits(onPool(pool), { ...page, rows: measured(rows.slice(0, 20).map(({ id }) => id)) }),
  ).rejects.toThrow('ask for fewer rows');
  await requireVersionsFit(pool, tenant.id, wanted);
  await readLatestVersions(pool, tenant.id, wanted);

  expect(rowsRead.size).toBe(3);
  expect(Math.max(...rowsRead.values())).toBeLessThan(100);
  // Postgres reads one row ahead of the sum.
  expect(rowsRead.get(textSizeOf(page))).toBe(5);
});

test('a page of listeners, and their actions, are measured by reading the rows of the page, beside few rows and many', async () => {
  const em = tenantEntityManager(cluster.context.orm.em, tenant.id);
  const listeners = await em.find(Listener, {}, { limit: 4 });
  expect(listeners).toHaveLength(4);
  const statements = await statementsOf(em, async () => {
    const query = { page: 1, pageSize: 4, limit: 4 };
    await findPage(em, Listener, { where: { status: 'inactive' }, query, large: ['listenerConfig'] }).catch(
      () => undefined,
    );
    await requireActionsFit(em, listeners).catch(() => undefined);
  });
  const measured = statements.filter(({ sql }) => sql.includes('pg_column_size'));
  expect(measured.map(({ sql }) => /from "?(\w+)/.exec(sql)?.[1])).toEqual(['listener', 'listener_action']);
  const rowsRead = new Map<string, number>();
  const explain = async () => {
    for (const { sql, values } of measured) await explaining(cluster.pool, rowsRead).query(sql, values);
  };
  await explain();
  await cluster.pool.query(
    `insert into listener select (jsonb_populate_record(l, jsonb_build_object(
       'id', gen_random_uuid(), 'tenant_id', $1::uuid, 'endpoint_path', null, 'endpoint_shape', null))).*
     from listener l, generate_series(1, 5000) where l.id = (select id from listener limit 1)`,
    [(await aTenant(cluster)).id],
  );
  await cluster.pool.query(
    `insert into listener_action (id, tenant_id, listener_id, action_type, action_config)
     select gen_random_uuid(), tenant_id, id, 'filter', '{}' from listener where tenant_id <> $1`,
    [tenant.id],
  );
  await explain();
  await cluster.pool.query('analyze listener, listener_action');
  await explain();

  expect(rowsRead.size).toBe(2);
  expect(Math.max(...rowsRead.values())).toBeLessThan(100);
});

async function isRefused(path: string, api = client()): Promise<void> {
  expect(await api.get(path)).toMatchObject({
    status: 413,
    body: { error: { code: 'PAYLOAD_TOO_LARGE', message: expect.stringContaining('ask for fewer rows') } },
  });
}

/** A run that has ended, with large values, whose nodes have written 3 MB each. */
async function aLargeRun(nodes: number): Promise<string> {
  const { rows } = await cluster.pool.query<{ id: string }>(
    `insert into workflow_instance (id, tenant_id, version_id, status, completed_at, caller, input, output, deadline_at)
     values (uuidv7(), $1, $2, 'COMPLETED', now(), '{"type": "system", "origin": "direct"}', ${NOTES}, ${NOTES}, now()) returning id`,
    [tenant.id, newID()],
  );
  const id = rows[0]?.id ?? '';
  await cluster.pool.query(
    `insert into run_event (instance_id, seq, node_id, status, payload, started)
     select $1, 2 * n, 'n' || n, 'SUCCESS', jsonb_build_object('output', repeat('y', 3000000)),
            case when n < $2 then jsonb_build_array('n' || (n + 1)) end
     from generate_series(1, $2::int) n`,
    [id, nodes],
  );
  return id;
}

test('a timeline has outputs of 8 MB in a page, and the run whose values and outputs are read holds their bytes', async () => {
  const id = await aLargeRun(3);
  const wanted = { afterSeq: 0, maxEvents: 1_000, withLargeOutputs: true };
  const reserved = await reservedBy(() => readTimeline(cluster.pool, id, wanted));
  expect(Math.round(reserved / 1e6)).toBe(12);
  expect(Math.round((await reservedBy(() => readValues(cluster.pool, id, { withInput: true }))) / 1e6)).toBe(18);

  const pages: string[][] = [];
  for (let after: number | null = 0; after !== null; ) {
    const { body } = await client().get(`T/workflows/instances/${id}?outputs=full&afterSeq=${after}`);
    pages.push(
      body.timeline.map(
        ({ nodeID, status, output }: Record<string, string>) => `${nodeID} ${status} ${output?.length}`,
      ),
    );
    after = body.nextSeq;
  }

  const events = (n: number) => [`n${n} SUCCESS 3000000`, ...(n < 3 ? [`n${n + 1} RUNNING undefined`] : [])];
  expect(pages).toEqual([[1, 2].flatMap(events), events(3)]);
});

test('the work that reads a large workflow, or one of its versions, holds the bytes of the graph', async () => {
  const workflowID = await paramFixture('workflowID')(cluster, tenant);
  const { rows } = await cluster.pool.query<{ id: string; bytes: number }>(
    `insert into workflow_version (id, tenant_id, workflow_id, number, nodes, edges)
     values (gen_random_uuid(), $1, $2, 1000, jsonb_build_array(${NOTES}), '[]') returning id, bytes`,
    [tenant.id, workflowID],
  );
  const { id = '', bytes = 0 } = rows[0] ?? {};
  let read: { latest: { nodes: unknown[] } } | null = null;
  const reserved = await reservedBy(async () => {
    read = await readWorkflow(cluster.pool, tenant.id, workflowID);
  });

  expect(read).toMatchObject({ latest: { id, nodes: [{ notes: expect.any(String) }], options: {} } });
  expect([reserved, await reservedBy(() => holdVersion(cluster.pool, id))]).toEqual([2 * bytes, 2 * bytes]);
  expect(bytes).toBeGreaterThan(4_500_000);
});
