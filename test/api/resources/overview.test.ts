import { afterAll, beforeAll, expect, test } from 'vitest';
import { readOverview } from '#api/resources/overview/overview.ts';
import { SearchQuery } from '#api/resources/overview/schemas.ts';
import { search } from '#api/resources/overview/search.ts';
import { tenantEntityManager } from '#api/tenant/entity-manager.ts';
import { newID } from '#shared/core/ids.ts';
import { type Cluster, startCluster } from '../../support/cluster.ts';
import { explaining } from '../../support/explaining.ts';
import {
  aDatasource,
  aListener,
  aMember,
  anApiKey,
  aTenant,
  aWorkflow,
  type TestTenant,
} from '../../support/factories.ts';
import { graph } from '../../support/graphs.ts';
import { eventually } from '../../support/settle.ts';
import { statementsOf } from '../../support/statements.ts';
import { addWaitingRuns } from '../../support/waiting-runs.ts';

let cluster: Cluster;
let tenant: TestTenant;
beforeAll(async () => {
  cluster = await startCluster({ workers: ['workflow.runs'] });
  tenant = await aTenant(cluster);
});
afterAll(() => cluster[Symbol.asyncDispose]());

const as = (user: { email: string }, of = tenant) => cluster.as(user as TestTenant['creator']).in(of);

const asks = (config: object) =>
  graph({ start: { type: 'start' }, ask: { type: 'approval', ...config }, end: { type: 'end' } }, [
    'start>ask',
    'ask:approved>end',
  ]);
const fails = graph({ start: { type: 'start' }, bad: { type: 'javascript', code: 'throw new Error("x")' } }, [
  'start>bad',
]);

test('a search finds by title and by run, those that begin so first, and nothing that the caller may not see', async () => {
  const title = 'Monthly 100%';
  const later = await aWorkflow(cluster, { tenant, title: `Send the ${title}` });
  const first = await aWorkflow(cluster, { tenant, title: `${title} report` });
  const datasource = await aDatasource(cluster, { tenant, title: `of the ${title}` });
  await aWorkflow(cluster, { tenant: await aTenant(cluster), title });
  await aWorkflow(cluster, { tenant, title: 'Monthly 1000' });
  const api = as(tenant.creator);
  const { body: run } = await api.post(`T/workflows/${first.id}/execute`, { tags: ['monthly 100%'] });
  const find = async (user: typeof tenant.creator, q: string, more = '') => {
    const { status, body } = await as(user).get(`T/search?q=${encodeURIComponent(q)}${more}`);
    expect(status).toBe(200);
    return body.results.map(({ type, id }: { type: string; id: string }) => [type, id]);
  };
  const workflows = [
    ['workflow', first.id],
    ['workflow', later.id],
  ];
  expect(await find(tenant.creator, title.toLowerCase())).toEqual([
    ...workflows,
    ['run', run.instanceID],
    ['datasource', datasource.id],
  ]);
  expect(await find(tenant.creator, title, '&types=workflow&limit=1')).toEqual([['workflow', first.id]]);
  for (const part of [run.instanceID, run.instanceID.slice(-8).toUpperCase()])
    expect(await find(tenant.creator, part)).toEqual([['run', run.instanceID]]);

  const member = await aMember(cluster, {
    tenant,
    can: ['workflow.list', 'datasource.read'],
    rules: [{ object: `workflow:${later.id}`, action: 'read' }],
  });
  expect(await find(member, title)).toEqual([['workflow', later.id]]);
  expect(await find(member, run.instanceID)).toEqual([]);
  expect(await find(await aMember(cluster, { tenant }), title)).toEqual([]);
  for (const q of ['?', '??', '\\?', "'?", '%_\\', '$1']) expect(await find(tenant.creator, q)).toEqual([]);
  const odd = await aWorkflow(cluster, { tenant, title: "Who's there? $1 \\?" });
  for (const q of ["who's there?", '\\?', '$1']) expect(await find(tenant.creator, q)).toEqual([['workflow', odd.id]]);
  expect(await api.get('T/search')).toMatchObject({ status: 400 });
  expect(await api.get('T/search?q=a&types=secret')).toMatchObject({ status: 400 });
});

test('an overview has what waits, runs, has failed and has stopped, of what the caller may see', async () => {
  const own = await aTenant(cluster);
  const [open, closed, bad] = [
    await aWorkflow(cluster, { tenant: own, title: 'Open', ...asks({ title: 'Pay?' }) }),
    await aWorkflow(cluster, { tenant: own, title: 'Closed', ...asks({ approvers: [own.creator.email] }) }),
    await aWorkflow(cluster, { tenant: own, title: 'Bad', ...fails }),
  ];
  const listener = await aListener(cluster, { tenant: own });
  const api = as(own.creator, own);
  for (const { id } of [open, closed, bad]) await api.post(`T/workflows/${id}/execute`, {});
  const { pool } = cluster;
  await pool.query(`update listener set status = 'error', last_error = 'no route' where id = $1`, [listener.id]);
  await pool.query(
    `insert into listener_event (id, tenant_id, listener_id, source, state, finished_at, expires_at)
     select uuidv7(), $1, $2, 'webhook', 'dead', now() - n * interval '23 hours', now() + interval '1 day' from generate_series(1, 2) n`,
    [own.id, listener.id],
  );
  const overview = async (user: typeof own.creator) => (await as(user, own).get('T/overview')).body;
  const none = { count: 0, isMore: false, newest: [] };
  const run = (title: string) => expect.objectContaining({ workflowTitle: title });
  await eventually(async () =>
    expect(await overview(own.creator)).toMatchObject({
      questions: {
        ...{ count: 2, isMore: false },
        newest: expect.arrayContaining([
          expect.objectContaining({ title: 'Pay?', nodeID: 'ask' }),
          expect.objectContaining({ title: null }),
        ]),
      },
      runs: {
        failed: { count: 1, newest: [run('Bad')] },
        running: none,
        waiting: { count: 2, newest: expect.arrayContaining([run('Open'), run('Closed')]) },
        pending: none,
      },
      deadLetters: {
        ...{ count: 1, isMore: false },
        listeners: [{ id: listener.id, title: 'A listener', count: 1, isMore: false }],
      },
      stoppedCronJobs: none,
      stoppedListeners: { count: 1, newest: [{ id: listener.id, reason: 'no route' }] },
    }),
  );
  const reader = await aMember(cluster, { tenant: own, rules: [{ object: `workflow:${bad.id}`, action: 'read' }] });
  const answerer = await aMember(cluster, { tenant: own, can: ['workflow.execute'] });
  const nothing = { questions: null, runs: null, deadLetters: null, stoppedCronJobs: null, stoppedListeners: null };
  expect(await overview(reader)).toMatchObject({
    ...nothing,
    runs: { failed: { count: 1, newest: [run('Bad')] }, running: none, waiting: none, pending: none },
  });
  expect(await overview(answerer)).toMatchObject({ ...nothing, questions: { count: 1, newest: [{ title: 'Pay?' }] } });
  expect(await overview(await aMember(cluster, { tenant: own }))).toMatchObject(nothing);
  const [{ instanceID: failed }] = (await overview(reader)).runs.failed.newest;
  const { body: again } = await api.post(`T/workflows/instances/${failed}/rerun`);
  await eventually(async () =>
    expect((await overview(reader)).runs.failed).toMatchObject({
      ...{ count: 1, newest: [{ instanceID: again.instanceID }] },
    }),
  );
  // A key is no approver.
  const key = await anApiKey(cluster, { tenant: own, can: ['workflow.execute'] });
  expect((await cluster.withKey(key).in(own).get('T/overview')).body.questions.count).toBe(1);
  expect(await as(tenant.creator, own).get('T/overview')).toMatchObject({ status: 403 });
});

test('the runs of the last hours are counted by hour and state, of what the caller may see', async () => {
  const own = await aTenant(cluster);
  const bad = await aWorkflow(cluster, { tenant: own, title: 'Bad', ...fails });
  const open = await aWorkflow(cluster, { tenant: own, title: 'Open', ...asks({}) });
  const api = as(own.creator, own);
  const ids: string[] = [];
  for (const { id } of [bad, bad, open]) ids.push((await api.post(`T/workflows/${id}/execute`)).body.instanceID);
  await eventually(async () => {
    const { rows } = await cluster.pool.query(
      `select from workflow_instance where tenant_id = $1 and status in ('FAILED', 'WAITING')`,
      [own.id],
    );
    expect(rows).toHaveLength(3);
  });
  const set = 'update workflow_instance set created_at = $2 where id = $1';
  const at = (hours: number) => new Date(Math.floor(Date.now() / 3_600_000) * 3_600_000 - hours * 3_600_000 + 1);
  for (const [index, hours] of [1, 100, 2].entries()) await cluster.pool.query(set, [ids[index], at(hours)]);
  const hour = (hours: number, counts: object) => ({
    ...{ hour: at(hours).toISOString().replace('.001', '') },
    ...{ completed: 0, failed: 0, cancelled: 0, waiting: 0, running: 0, pending: 0, ...counts },
  });
  const failed = (count: number) => [{ workflowID: bad.id, workflowTitle: 'Bad', count }];

  const { body: day } = await api.get('T/overview/runs');
  const { body: fortnight } = await api.get('T/overview/runs?hours=336');
  const reader = await aMember(cluster, { tenant: own, rules: [{ object: `workflow:${open.id}`, action: 'read' }] });
  const { body: ofReader } = await as(reader, own).get('T/overview/runs?hours=336');

  expect(day).toMatchObject({
    ...{ hours: [hour(2, { waiting: 1 }), hour(1, { failed: 1 })], failedMost: failed(1), isCut: false },
  });
  expect(fortnight).toMatchObject({
    hours: [hour(100, { failed: 1 }), hour(2, { waiting: 1 }), hour(1, { failed: 1 })],
    failedMost: failed(2),
  });
  expect(ofReader).toMatchObject({ hours: [hour(2, { waiting: 1 })], failedMost: [] });
  expect(await as(await aMember(cluster, { tenant: own }), own).get('T/overview/runs')).toMatchObject({ status: 403 });
  for (const hours of ['0', '337', '1.5'])
    expect(await api.get(`T/overview/runs?hours=${hours}`)).toMatchObject({ status: 400 });
});

test('both read a bounded number of rows of a tenant with many', async () => {
  const crowd = await aTenant(cluster);
  await addWaitingRuns({ pool: cluster.pool, tenantID: crowd.id }, 7_000);
  const { versionID } = await aWorkflow(cluster, { tenant: crowd });
  const client = await cluster.pool.connect();
  // Without the triggers, which note each of them.
  await client.query('begin; alter table workflow disable trigger user');
  await client.query(
    `insert into workflow (id, tenant_id, creator_id, title, version_id, workflow_options, created_at, updated_at)
     select uuidv7(), $1, $2, 'Many ' || n, $3, '{}', now() - n * interval '1 s', now() from generate_series(1, 12000) n`,
    [crowd.id, crowd.creator.id, versionID],
  );
  await client.query('set constraints all immediate; alter table workflow enable trigger user; commit');
  client.release();
  await cluster.pool.query('vacuum analyze workflow');
  const em = tenantEntityManager(cluster.context.orm.em, crowd.id);
  // The rights of a caller who may do everything.
  const rights = { visible: async () => ({}), scopeOf: async () => 'all' as const };
  const requester = { ...rights, em, tenantID: crowd.id };
  let overview: Awaited<ReturnType<typeof readOverview>> | undefined;
  const statements = await statementsOf(em, async () => {
    for (const q of ['nothing is called so', 'many', newID().slice(-8)])
      await search({ ...requester, query: SearchQuery.parse({ q }) });
    const { pausedQueues } = cluster.context.runs;
    overview = await readOverview(
      { ...requester, identity: { userID: crowd.creator.id } as never },
      { pool: cluster.pool, pausedQueues },
    );
  });
  expect(overview).toMatchObject({
    questions: { count: 100, isMore: true },
    runs: { waiting: { count: 100, isMore: true }, pending: { isMore: true } },
  });
  const rowsRead = new Map<string, number>();
  for (const { sql, values } of statements) await explaining(cluster.pool, rowsRead).query(sql, values);
  const most = (isWanted: (sql: string) => boolean) =>
    Math.max(...[...rowsRead].flatMap(([sql, rows]) => (isWanted(sql) ? rows : [])));
  // The rows that are passed over to find the oldest one, and those after it. Those of one statement share a time.
  expect(most((sql) => sql.includes('position('))).toBeLessThan(10_100);
  expect(most((sql) => sql.includes('right('))).toBeLessThan(5_100);
  expect(most((sql) => !/position\(|right\(/.test(sql))).toBeLessThan(3_000);
});

test('the overview says that the deployment was restored, to every member, until it is resumed', async () => {
  const own = await aTenant(cluster);
  const member = await aMember(cluster, { tenant: own });
  const restoredFrom = async () => (await as(member, own).get('T/overview')).body.restoredFrom;
  const at = '2026-03-01T03:00:00.000Z';
  await cluster.pool.query(
    `insert into deployment_restore (id, backup_id, snapshot_at, phase) values ($1, $1, $2, 'loaded')`,
    [newID(), at],
  );
  try {
    expect(await restoredFrom()).toBe(at);
  } finally {
    await cluster.pool.query('update deployment_restore set resumed_at = now()');
  }
  expect(await restoredFrom()).toBeNull();
});
