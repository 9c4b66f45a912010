import { afterAll, beforeAll, expect, test } from 'vitest';
import { newID } from '#shared/core/ids.ts';
import { markCancelled, resumeCancels } from '#shared/runs/batches/cancel.ts';
import { type Cluster, startCluster } from '../../../support/cluster.ts';
import { aMember, aTenant, aWorkflow, chain, type TestTenant, type TestWorkflow } from '../../../support/factories.ts';
import { eventually } from '../../../support/settle.ts';

let cluster: Cluster;
let tenant: TestTenant;
let echo: TestWorkflow;
/** Its runs wait for an hour. */
let slow: TestWorkflow;

beforeAll(async () => {
  cluster = await startCluster({ workers: ['workflow.runs'] });
  tenant = await aTenant(cluster);
  const options = { inputDefinitions: [{ key: 'n', type: 'number' as const, required: true }] };
  echo = await aWorkflow(cluster, { tenant, options, ...chain({}, { n: '{{ctx.input.n}}' }) });
  slow = await aWorkflow(cluster, { tenant, ...chain({ wait: { type: 'delay', delayMinutes: 60 } }) });
});
afterAll(() => cluster[Symbol.asyncDispose]());

const api = () => cluster.as(tenant.creator).in(tenant);
const bulk = (id: string, items: unknown[], headers: Record<string, string> = {}) =>
  api().post(`T/workflows/${id}/execute/bulk`, { items }, headers);
const numbered = (count: number) => Array.from({ length: count }, (_, n) => ({ args: { n } }));
const idsOf = (body: { items: { instanceID: string | null }[] }) => body.items.map(({ instanceID }) => instanceID);

async function batchOf(batchID: string) {
  return (await api().get(`T/workflows/batches/${batchID}`)).body.batch;
}

test('runs of a batch have the class `batch`, unless the item or the workflow names another', async () => {
  const workflow = await aWorkflow(cluster, { tenant, ...chain(), options: { class: 'cron' } });
  const classesOf = async (id: string, items: object[]) => {
    const ids = idsOf((await bulk(id, items)).body);
    const { rows } = await cluster.pool.query('select id, class from workflow_instance where id = any($1::uuid[])', [
      ids,
    ]);
    return ids.map((own) => rows.find((row) => row.id === own)?.class);
  };

  const args = { n: 1 };
  expect(await classesOf(echo.id, [{ args }, { args, class: 'interactive' }])).toEqual(['batch', 'interactive']);
  expect(await classesOf(workflow.id, [{}, { class: 'batch' }])).toEqual(['cron', 'batch']);
});

test('every item is answered in order, and one that is wrong names its field and fails no other', async () => {
  const { status, body } = await bulk(echo.id, [
    { args: { n: 1 }, tags: ['first'] },
    { args: { n: 'none' } },
    { inputValues: {} },
    { args: { n: 4 }, tags: 'first' },
    'text',
    { inputValues: { n: '6' } },
  ]);

  expect(status, JSON.stringify(body)).toBe(200);
  expect(body).toMatchObject({ accepted: 2, replayed: 0, refused: 4 });
  const paths = body.items.map(({ error }: { error: { details: { issues: { path: unknown[] }[] } } | null }) =>
    error?.details.issues.map(({ path }) => path.join('.')).join(),
  );
  expect(paths).toEqual([undefined, 'items.1.args.n', 'items.2.inputValues.n', 'items.3.tags', 'items.4', undefined]);
  expect(body.items[1].error).toMatchObject({
    code: 'VALIDATION_ERROR',
    message: 'items.1.args.n: expected a number, received "none"',
  });

  await eventually(async () =>
    expect(await batchOf(body.batchID)).toMatchObject({
      status: 'COMPLETED',
      kind: 'execute',
      workflowID: echo.id,
      total: 2,
      refused: 4,
      counts: { PENDING: 0, COMPLETED: 2 },
      creatorID: tenant.creator.id,
    }),
  );
  const { instances } = (await api().get(`T/workflows/instances?batch=${body.batchID}`)).body;
  const [first, , , , , last] = idsOf(body);
  expect(instances.map(({ instanceID }: { instanceID: string }) => instanceID)).toEqual([last, first]);
  expect(instances[1]).toMatchObject({ batchID: body.batchID, tags: ['first'], origin: 'direct' });
  expect((await api().get(`T/workflows/instances/${last}`)).body.output).toEqual({ n: 6 });
  const listed = (await api().get(`T/workflows/batches?workflowID=${echo.id}&limit=100`)).body.batches;
  expect(listed).toContainEqual(await batchOf(body.batchID));
});

test('a body without items, with too many, or with an unknown version is refused as a whole', async () => {
  const paths = async (body: unknown) => {
    const answer = await api().post(`T/workflows/${echo.id}/execute/bulk`, body);
    return [answer.status, answer.body.error.details?.issues.map(({ path }: { path: string[] }) => path.join('.'))];
  };

  expect(await paths({})).toEqual([400, ['items']]);
  expect(await paths({ items: [] })).toEqual([400, ['items']]);
  expect(await paths({ items: numbered(1_001) })).toEqual([400, ['items']]);
  expect(await paths({ items: numbered(1), label: 1 })).toEqual([400, ['label']]);
  expect(await api().post(`T/workflows/${echo.id}/execute/bulk?version=9`, { items: numbered(1) })).toMatchObject({
    status: 404,
  });
});

test('the key of an item starts one run, in one request, in a later one and in several at once', async () => {
  const keys = Array.from({ length: 40 }, () => newID());
  const items = keys.map((idempotencyKey, n) => ({ args: { n }, idempotencyKey }));

  const answers = await Promise.all([bulk(slow.id, items), bulk(slow.id, items.toReversed()), bulk(slow.id, items)]);
  const later = await bulk(slow.id, [
    { args: { n: 0 }, idempotencyKey: keys[0] },
    { args: { n: 7 }, idempotencyKey: keys[1] },
    { args: { n: 8 } },
    { args: { n: 9 }, idempotencyKey: 'twice' },
    { args: { n: 9 }, idempotencyKey: 'twice' },
  ]);

  const [first = [], backwards = [], third] = answers.map(({ body }) => idsOf(body));
  expect(first.every(Boolean)).toBe(true);
  expect(backwards.toReversed()).toEqual(first);
  expect(third).toEqual(first);
  expect(answers.reduce((sum, { body }) => sum + body.accepted, 0)).toBe(40);
  expect(later.body).toMatchObject({ accepted: 2, replayed: 1, refused: 2 });
  expect(later.body.items).toMatchObject([
    { instanceID: first[0], isReplay: true },
    { instanceID: null, error: { code: 'CONFLICT' } },
    { instanceID: expect.any(String), isReplay: false },
    { instanceID: expect.any(String) },
    { error: { details: { issues: [{ path: ['items', 4, 'idempotencyKey'] }] } } },
  ]);
  const { rows } = await cluster.pool.query<{ n: number }>(
    'select count(*)::int as n from workflow_instance where workflow_id = $1',
    [slow.id],
  );
  expect(rows[0]?.n).toBe(42);
});

test('a repeated request with an Idempotency-Key is answered with the same batch', async () => {
  const key = { 'Idempotency-Key': newID() };
  const items = [...numbered(3), { args: { n: 'none' } }];

  const [one, other] = await Promise.all([bulk(echo.id, items, key), bulk(echo.id, items, key)]);

  expect(other.body).toEqual(one.body);
  expect(one.body).toMatchObject({ accepted: 3, refused: 1 });
  expect([one, other].filter(({ headers }) => headers.get('idempotency-replayed'))).toHaveLength(1);
  expect(await bulk(echo.id, numbered(1), key)).toMatchObject({ status: 409 });
});

test('items beyond the quota of runs in flight are refused, and their keys stay free', async () => {
  const own = await aTenant(cluster);
  const { id } = await aWorkflow(cluster, { tenant: own, ...chain({ wait: { type: 'delay', delayMinutes: 60 } }) });
  await cluster.pool.query(`insert into quota (owner_id, name, max) values ($1, 'runs', 2)`, [own.id]);
  const items = ['a', 'b', 'c'].map((idempotencyKey) => ({ idempotencyKey }));
  const send = () => cluster.as(own.creator).in(own).post(`T/workflows/${id}/execute/bulk`, { items });

  const { body } = await send();

  expect(body).toMatchObject({ accepted: 2, refused: 1, items: [{ error: null }, { error: null }, {}] });
  expect(body.items[2].error).toMatchObject({ code: 'QUOTA_EXCEEDED', details: { quota: 'runs', max: 2 } });
  await cluster.pool.query('update quota set max = 3 where owner_id = $1', [own.id]);
  await eventually(async () => {
    const again = (await send()).body;
    expect(again).toMatchObject({ accepted: 1, replayed: 2 });
    expect(idsOf(again).slice(0, 2)).toEqual(idsOf(body).slice(0, 2));
  });
});

test('stopping a batch cancels its runs that have not ended, and no others', async () => {
  const parent = await aWorkflow(cluster, {
    tenant,
    ...chain({ child: { type: 'subWorkflow', childWorkflowID: slow.id } }),
  });
  const startAt = new Date(Date.now() + 3_600_000).toISOString();
  const { body } = await bulk(parent.id, [{ tags: ['now'] }, { startAt }, { args: { a: 1 } }]);
  const beside = (await bulk(slow.id, [{}])).body;
  const [now] = idsOf(body);
  const child = async () => (await api().get(`T/workflows/instances?parentInstanceID=${now}`)).body.instances[0];
  await eventually(async () => expect(await child()).toMatchObject({ status: 'WAITING' }));

  const stopped = await api().delete(`T/workflows/batches/${body.batchID}/stop`);

  expect(stopped).toMatchObject({
    status: 200,
    body: { batch: { status: 'CANCELLED', cancelledBy: tenant.creator.id, counts: { CANCELLED: 3, WAITING: 0 } } },
  });
  expect(await child()).toMatchObject({ status: 'CANCELLED' });
  expect(await batchOf(beside.batchID)).toMatchObject({ status: 'RUNNING', cancelledAt: null });
  const other = await aMember(cluster, { tenant, can: ['workflow.execute'] });
  const again = await cluster.as(other).in(tenant).delete(`T/workflows/batches/${body.batchID}/stop`);
  const { cancelledAt } = stopped.body.batch;
  expect(again.body.batch).toMatchObject({ cancelledAt, cancelledBy: tenant.creator.id });
});

test('a worker ends the runs of a batch whose cancelling process has died', async () => {
  const { batchID } = (await bulk(slow.id, numbered(3))).body;
  const { pool, runs } = cluster.context;
  await markCancelled(pool, { tenantID: tenant.id, batchID, userID: tenant.creator.id });

  expect(await resumeCancels({ pool, runs })).toBe(0);
  expect(await batchOf(batchID)).toMatchObject({ status: 'RUNNING' });
  await pool.query(`update run_batch set updated_at = now() - interval '1 minute' where id = $1`, [batchID]);
  await eventually(async () =>
    expect(await batchOf(batchID)).toMatchObject({ status: 'CANCELLED', counts: { CANCELLED: 3 } }),
  );
  await eventually(async () => {
    const { rows } = await pool.query('select 1 from run_batch where id = $1 and stopped_at is not null', [batchID]);
    expect(rows).toHaveLength(1);
  });
});

test('callers of other tenants, and those without the permission, neither read nor stop a batch', async () => {
  const { batchID } = (await bulk(slow.id, numbered(1))).body;
  const elsewhere = await aTenant(cluster);
  const reader = await aMember(cluster, { tenant, can: ['workflow.read'] });
  const executor = await aMember(cluster, { tenant, can: ['workflow.execute'] });
  const stranger = cluster.as(elsewhere.creator).in(elsewhere);

  expect((await stranger.get(`T/workflows/batches/${batchID}`)).status).toBe(404);
  expect((await stranger.delete(`T/workflows/batches/${batchID}/stop`)).status).toBe(404);
  expect((await cluster.as(reader).in(tenant).delete(`T/workflows/batches/${batchID}/stop`)).status).toBe(403);
  expect((await cluster.as(executor).in(tenant).get(`T/workflows/batches/${batchID}`)).status).toBe(403);
  const refused = await cluster
    .as(reader)
    .in(tenant)
    .post(`T/workflows/${slow.id}/execute/bulk`, { items: [{}] });
  expect(refused.status).toBe(403);
  expect(await batchOf(batchID)).toMatchObject({ cancelledAt: null });
});
