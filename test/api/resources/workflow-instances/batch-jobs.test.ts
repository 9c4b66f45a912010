import { afterAll, beforeAll, expect, test } from 'vitest';
import { lenient } from '../../../support/client.ts';
import { type Cluster, startCluster } from '../../../support/cluster.ts';
import { aMember, aTenant, aWorkflow, chain, type TestTenant, type TestWorkflow } from '../../../support/factories.ts';
import { code } from '../../../support/graphs.ts';
import { eventually } from '../../../support/settle.ts';

let cluster: Cluster;
let tenant: TestTenant;
/** Fails unless the input says `ok`. */
let picky: TestWorkflow;
/** Its runs wait for an hour. */
let slow: TestWorkflow;

beforeAll(async () => {
  cluster = await startCluster({ workers: ['workflow.runs'] });
  tenant = await aTenant(cluster);
  const check = code('if (!ctx.input.ok) throw new Error("not ok"); return 1;');
  picky = await aWorkflow(cluster, { tenant, ...chain({ draw: code('return Math.random();'), check }) });
  slow = await aWorkflow(cluster, { tenant, ...chain({ wait: { type: 'delay', delayMinutes: 60 } }) });
});
afterAll(() => cluster[Symbol.asyncDispose]());

const api = () => cluster.as(tenant.creator).in(tenant);
const begin = (does: 'rerun' | 'cancel', body: object, headers = {}) =>
  api().post(`T/workflows/batches/${does}`, body, headers);
const run = async (id: string, body: object = {}, wait = 30) =>
  (await api().post(`T/workflows/${id}/execute?wait=${wait}`, body)).body.instanceID as string;
const batchOf = async (batchID: string) => (await api().get(`T/workflows/batches/${batchID}`)).body.batch;
const listed = async (query: string) => (await api().get(`T/workflows/instances?${query}`)).body.instances;
const statusOf = async (instanceID: string) => (await api().get(`T/workflows/instances/${instanceID}`)).body.status;

async function over(batchID: string) {
  await eventually(async () => expect((await batchOf(batchID)).status).toBe('COMPLETED'));
  return batchOf(batchID);
}

test('failed runs that a filter finds are re-run, each once, from their failed nodes', async () => {
  const failed = [await run(picky.id, { tags: ['a'] }), await run(picky.id, { tags: ['a'] }), await run(picky.id)];
  await run(picky.id, { args: { ok: true }, tags: ['a'] });
  const key = { 'Idempotency-Key': 'once' };
  const body = { filter: { workflowID: picky.id, errorCode: 'NODE_FAILED', tag: 'a' }, label: 'Again' };

  const [one, other] = await Promise.all([begin('rerun', body, key), begin('rerun', body, key)]);

  expect(one).toMatchObject({ status: 200, body: { batch: { kind: 'rerun', status: 'FILLING', label: 'Again' } } });
  expect(other.body).toEqual(one.body);
  const batch = await over(one.body.batch.batchID);
  expect(batch).toMatchObject({ total: 2, refused: 0, lookedAt: 2, counts: { FAILED: 2 }, filter: body.filter });
  const runs = await listed(`batch=${batch.batchID}`);
  expect(runs.map(({ rerunOf }: { rerunOf: string }) => rerunOf).sort()).toEqual(failed.slice(0, 2));
  const { timeline } = (await api().get(`T/workflows/instances/${runs[0].instanceID}`)).body;
  expect(timeline.filter((event: { reusedFrom?: string }) => event.reusedFrom)).toHaveLength(2);
});

test('runs that cannot be repeated are counted, with the reason of the last', async () => {
  const removed = await aWorkflow(cluster, { tenant, ...chain({ bad: code('throw new Error("no")') }) });
  await run(removed.id);
  const unknown = { filter: { workflowID: removed.id }, from: { nodeID: 'none' } };
  const first = await over((await begin('rerun', unknown)).body.batch.batchID);
  await api().delete(`T/workflows/${removed.id}`);
  const second = await over((await begin('rerun', { filter: { workflowID: removed.id } })).body.batch.batchID);

  expect(first).toMatchObject({ total: 0, refused: 1, lookedAt: 1, lastError: expect.stringContaining('from.nodeID') });
  expect(second).toMatchObject({ total: 0, refused: 1, lastError: expect.stringContaining('was deleted') });
});

test('open runs that a filter finds are cancelled with their children, and later ones are not', async () => {
  const child = { type: 'subWorkflow', childWorkflowID: slow.id };
  const parent = await aWorkflow(cluster, { tenant, ...chain({ child }) });
  const startAt = new Date(Date.now() + 3_600_000).toISOString();
  const matching = [
    await run(parent.id, { tags: ['stop'] }, 0),
    await run(slow.id, { tags: ['stop'] }, 0),
    await run(slow.id, { tags: ['stop'], startAt }, 0),
  ];
  const beside = await run(slow.id, { tags: ['keep'] }, 0);
  const childOf = async () => (await listed(`parentInstanceID=${matching[0]}`))[0];
  await eventually(async () => expect(await childOf()).toMatchObject({ status: 'WAITING' }));

  const began = (await begin('cancel', { filter: { tag: 'stop' } })).body.batch;
  const later = await run(slow.id, { tags: ['stop'] }, 0);

  expect(await over(began.batchID)).toMatchObject({ kind: 'cancel', total: 3, refused: 0 });
  for (const id of matching) expect(await statusOf(id)).toBe('CANCELLED');
  expect(await childOf()).toMatchObject({ status: 'CANCELLED' });
  for (const id of [beside, later]) expect(['PENDING', 'RUNNING', 'WAITING']).toContain(await statusOf(id));
});

test('a parent goes on when a filter has cancelled its child', async () => {
  const child = { type: 'subWorkflow', childWorkflowID: slow.id };
  const parent = await aWorkflow(cluster, { tenant, ...chain({ child }) });
  const root = await run(parent.id, {}, 0);
  await eventually(async () => expect(await listed(`parentInstanceID=${root}`)).toMatchObject([{ status: 'WAITING' }]));

  await begin('cancel', { filter: { parentInstanceID: root } });

  await eventually(async () => expect(await statusOf(root)).toBe('FAILED'));
});

test('a job that is stopped looks at no more runs', async () => {
  const { rows } = await cluster.pool.query<{ id: string }>(
    `insert into run_batch (id, tenant_id, workflow_id, kind, creator_id, caller, asked, cancelled_at)
     values (gen_random_uuid(), $1, $2, 'cancel', $3, $4, $5, now()) returning id`,
    [
      tenant.id,
      slow.id,
      tenant.creator.id,
      { type: 'user', id: tenant.creator.id, userID: tenant.creator.id, origin: 'direct' },
      { does: 'cancel', filter: { tag: 'keep' } },
    ],
  );
  const marker = await run(slow.id, { tags: ['marker'] }, 0);
  await over((await begin('cancel', { filter: { tag: 'marker' } })).body.batch.batchID);

  expect(await statusOf(marker)).toBe('CANCELLED');
  expect(await batchOf(rows[0]?.id ?? '')).toMatchObject({ status: 'CANCELLED', lookedAt: 0, total: 0 });
});

test('a job needs the permission on the workflow of its filter, or on all, also while it is done', async () => {
  const other = await aWorkflow(cluster, { tenant, ...chain({ wait: { type: 'delay', delayMinutes: 60 } }) });
  const [mine, theirs] = [await run(slow.id, { tags: ['p'] }, 0), await run(other.id, { tags: ['p'] }, 0)];
  const object = `workflow:${other.id}`;
  const limited = await aMember(cluster, { tenant, rules: [{ object: `workflow:${slow.id}`, action: 'execute' }] });
  const denied = await aMember(cluster, {
    tenant,
    can: ['workflow.execute', 'workflow.read'],
    rules: [{ object, action: 'execute', effect: 'deny' }],
  });
  const cancel = (user: { email: string }, filter: object) =>
    cluster.as(user).in(tenant).post('T/workflows/batches/cancel', { filter });

  expect((await cancel(limited, {})).status).toBe(403);
  expect((await cancel(limited, { workflowID: other.id })).status).toBe(403);
  expect((await cancel(limited, { workflowID: slow.id, tag: 'none' })).status).toBe(200);
  const rerun = await cluster
    .as(limited)
    .in(tenant)
    .post('T/workflows/batches/rerun', { filter: { workflowID: slow.id } });
  expect(rerun.status).toBe(403);
  const { batchID } = (await cancel(denied, { tag: 'p' })).body.batch;
  expect(await over(batchID)).toMatchObject({ total: 1, refused: 1, lastError: expect.stringContaining('may not') });
  expect(await statusOf(mine)).toBe('CANCELLED');
  expect(await statusOf(theirs)).not.toBe('CANCELLED');
});

test('a wrong filter is refused with the path of its field', async () => {
  const paths = async (does: 'rerun' | 'cancel', body: object) => {
    const answer = await begin(does, body);
    return [answer.status, answer.body.error?.details?.issues.map(({ path }: { path: string[] }) => path.join('.'))];
  };

  expect(await paths('cancel', {})).toEqual([400, ['filter']]);
  expect(await paths('cancel', { filter: { status: 'DONE' } })).toEqual([400, ['filter.status']]);
  expect(await paths('cancel', { filter: { version: '1' } })).toEqual([400, ['filter.version']]);
  expect(await paths('rerun', { filter: {}, version: '1' })).toEqual([400, ['version']]);
  expect(await paths('rerun', { filter: {}, from: 'end' })).toEqual([400, ['from']]);
});

test('a condition that is not known is refused from lenient clients, too: without it, all runs would be meant', async () => {
  for (const [does, filter, name] of [
    ['cancel', { workflowId: slow.id }, 'workflowId'],
    ['rerun', { tags: ['night'] }, 'tags'],
  ] as const) {
    const { status, body } = await begin(does, { filter }, lenient);
    expect({ status, message: body.error?.message }).toEqual({ status: 400, message: expect.stringContaining(name) });
  }
});
