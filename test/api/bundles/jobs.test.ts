import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Client } from '../../support/client.ts';
import { type Cluster, startCluster } from '../../support/cluster.ts';
import { aListener, aMember, anApiKey, aTenant, aWidget, type TestTenant } from '../../support/factories.ts';
import { eventually } from '../../support/settle.ts';

let cluster: Cluster;
beforeAll(async () => {
  cluster = await startCluster({ workers: false, apis: 2 });
});
afterAll(() => cluster[Symbol.asyncDispose]());

function bundleOf(count: number) {
  const items = Array.from({ length: count }, (_, n) => ({
    type: 'widget',
    id: crypto.randomUUID(),
    payload: { widgetTitle: `Widget ${n}`, widgetType: 'table', widgetConfig: {} },
  }));
  return { bundleVersion: 1, items };
}

async function begin(who: Client, body: object): Promise<string> {
  const { status, body: answer } = await who.post('T/import/jobs', body);
  expect(status, JSON.stringify(answer)).toBe(202);
  return answer.job.jobID;
}

async function jobOf(who: Client, id: string) {
  return (await who.get(`T/import/jobs/${id}`)).body.job;
}

async function ended(who: Client, id: string) {
  await eventually(async () => expect((await jobOf(who, id)).endedAt).not.toBe(null));
  return jobOf(who, id);
}

async function widgetsOf({ id }: TestTenant): Promise<number> {
  const { rows } = await cluster.pool.query<{ n: number }>(
    'select count(*)::int as n from widget where tenant_id = $1',
    [id],
  );
  return rows[0]?.n ?? 0;
}

/** Holds back the imports of a tenant at their beginning. */
function holdImports({ id }: TestTenant): Promise<AsyncDisposable> {
  return holdLock(`bundle.import.${id}`);
}

async function holdLock(name: string): Promise<AsyncDisposable> {
  const client = await cluster.pool.connect();
  await client.query('select pg_advisory_lock(hashtextextended($1, 0))', [name]);
  const locked = new AsyncDisposableStack();
  locked.defer(async () => {
    await client.query('select pg_advisory_unlock_all()');
    client.release();
  });
  return locked;
}

test('an import in the background answers as the request would have', async () => {
  const tenant = await aTenant(cluster);
  const who = cluster.as(tenant.creator).in(tenant);
  const bundle = bundleOf(3);

  const id = await begin(who, { bundle });
  const job = await ended(who, id);

  expect(job).toMatchObject({ status: 'COMPLETED', done: 3, total: 3, error: null, creatorID: tenant.creator.id });
  expect(job.result).toMatchObject({ importID: expect.any(String), message: '3 assets imported', skipped: [] });
  const originalIDs = job.result.results.map(({ originalID }: { originalID: string }) => originalID);
  expect(originalIDs.sort()).toEqual(bundle.items.map((item) => item.id).sort());
  expect(await widgetsOf(tenant)).toBe(3);
  const { rows } = await cluster.pool.query('select request from import_job where id = $1', [id]);
  expect(rows).toEqual([{ request: null }]);
  const { body } = await who.get('T/import/jobs');
  expect(body.jobs).toEqual([expect.objectContaining({ id, status: 'COMPLETED' })]);
  const { auditLogs } = (await who.get('T/audit?method=POST&pageSize=10')).body;
  const paths = auditLogs.map(({ path }: { path: string }) => path.split('/').slice(-2).join('/'));
  expect(paths).toEqual(expect.arrayContaining(['import/jobs', 'import/execute']));
});

test('says how far it is, and shows nothing to others before all is there', async () => {
  const source = await aTenant(cluster);
  await aWidget(cluster, { tenant: source });
  await aListener(cluster, { tenant: source, endpointPath: 'orders' });
  const { bundle } = (await cluster.as(source.creator).in(source).post('T/export', {})).body;
  const tenant = await aTenant(cluster);
  const who = cluster.as(tenant.creator).in(tenant);
  const total = bundle.items.length;

  // The listener waits, which needs others before it.
  await using locked = await holdLock(`listener.endpoint.${tenant.id}`);
  const id = await begin(who, { bundle });
  await eventually(async () => {
    const job = await jobOf(who, id);
    expect(job).toMatchObject({ status: 'RUNNING', total, done: expect.any(Number), result: null });
    expect(job.done).toBeGreaterThan(0);
    expect(job.done).toBeLessThan(total);
  });
  expect((await who.get('T/datasources')).body.datasources).toEqual([]);
  await locked[Symbol.asyncDispose]();

  expect(await ended(who, id)).toMatchObject({ status: 'COMPLETED', done: total });
  expect((await who.get('T/listeners')).body.listeners).toHaveLength(1);
});

async function anImport(who: Client, body: object): Promise<string> {
  const answer = await who.post('T/import/execute', body);
  expect(answer.status, JSON.stringify(answer.body)).toBe(201);
  return answer.body.importID;
}

async function beginRollback(who: Client, importID: string): Promise<string> {
  const { status, body } = await who.post(`T/import/${importID}/rollback/jobs`);
  expect(status, JSON.stringify(body)).toBe(202);
  expect(body.job).toMatchObject({ kind: 'rollback', importID, done: 0 });
  return body.job.jobID;
}

test('a rollback in the background answers as the request would have', async () => {
  const tenant = await aTenant(cluster);
  const who = cluster.as(tenant.creator).in(tenant);
  const [bundle, next] = [bundleOf(3), bundleOf(1)];
  const first = await anImport(who, { bundle });
  Object.assign(next.items[0] ?? {}, { id: bundle.items[0]?.id });
  Object.assign(next.items[0]?.payload ?? {}, { widgetTitle: 'Next' });
  const second = await anImport(who, { bundle: next });
  const changed = await anImport(who, { bundle: bundleOf(1) });
  const { id } = (await who.get('T/widgets')).body.widgets[0];
  await who.patch(`T/widgets/${id}`, { widgetTitle: 'Ours' });

  const restored = await ended(who, await beginRollback(who, second));
  const removed = await ended(who, await beginRollback(who, first));
  const refused = await ended(who, await beginRollback(who, changed));

  const message = 'Import rolled back';
  expect(restored).toMatchObject({ status: 'COMPLETED', done: 1, total: 1, result: null, error: null });
  expect(restored.rollback).toEqual({ removed: 0, restored: 1, message });
  expect(removed).toMatchObject({ status: 'COMPLETED', done: 3, rollback: { removed: 3, restored: 0, message } });
  expect(refused).toMatchObject({ status: 'FAILED', rollback: null, error: { code: 'CONFLICT' } });
  expect(await widgetsOf(tenant)).toBe(1);
  expect((await who.post(`T/import/${first}/rollback/jobs`)).status).toBe(409);
  expect((await who.post(`T/import/${id}/rollback/jobs`)).status).toBe(404);
  const other = await aTenant(cluster);
  expect((await cluster.as(other.creator).in(other).post(`T/import/${changed}/rollback/jobs`)).status).toBe(404);
});

test.each(['import', 'rollback'] as const)(
  'the user who began an %s is told on every socket how far it is',
  async (kind) => {
    const tenant = await aTenant(cluster);
    const [who, colleague] = [
      cluster.as(tenant.creator).in(tenant),
      await aMember(cluster, { tenant, can: ['bundle.preview'] }),
    ];
    const bundle = bundleOf(4);
    const importID = kind === 'rollback' ? await anImport(who, { bundle }) : null;
    await using open = new AsyncDisposableStack();
    const sockets = await Promise.all(cluster.apis.map(({ baseURL }) => cluster.socket(tenant.creator, { baseURL })));
    const other = open.use(await cluster.socket(colleague));
    for (const socket of sockets) open.use(socket);

    const id = importID ? await beginRollback(who, importID) : await begin(who, { bundle });

    const common = { userID: tenant.creator.id, tenantID: tenant.id, jobID: id, kind };
    for (const socket of sockets)
      await eventually(() => {
        const updates = socket.messages
          .filter(({ event }) => event === 'import_job_update')
          .map(({ payload }) => payload);
        expect(updates[0]).toEqual({ ...common, status: 'RUNNING', done: 0, total: 4 });
        expect(updates.at(-1)).toEqual({ ...common, status: 'COMPLETED', done: 4, total: 4 });
      });
    expect(other.messages).toEqual([]);
  },
);

test('one that fails says why, and leaves nothing', async () => {
  const tenant = await aTenant(cluster);
  const who = cluster.as(tenant.creator).in(tenant);
  const bundle = bundleOf(2);
  Object.assign(bundle.items[1]?.payload ?? {}, { widgetTitle: '' });
  const planned = (await who.post('T/import/plan', { bundle: bundleOf(1) })).body.token;

  const invalid = await ended(who, await begin(who, { bundle }));
  const other = await ended(who, await begin(who, { bundle: bundleOf(2), token: planned }));

  expect(invalid).toMatchObject({ status: 'FAILED', result: null, error: { code: 'VALIDATION_ERROR' } });
  expect(invalid.error.message).toContain('bundle.items.1.payload.widgetTitle');
  expect(other).toMatchObject({ status: 'FAILED', error: { code: 'CONFLICT' } });
  expect(await widgetsOf(tenant)).toBe(0);
});

test('is done with the permissions of its caller at that time', async () => {
  const tenant = await aTenant(cluster);
  const member = await aMember(cluster, { tenant, can: ['bundle.execute', 'bundle.preview', 'widget.create'] });
  const key = await anApiKey(cluster, { tenant, can: ['bundle.execute', 'bundle.preview', 'widget.create'] });
  const [byMember, byKey] = [cluster.as(member).in(tenant), cluster.withKey(key).in(tenant)];

  expect((await ended(byKey, await begin(byKey, { bundle: bundleOf(1) }))).status).toBe('COMPLETED');
  await using locked = await holdImports(tenant);
  const creator = cluster.as(tenant.creator).in(tenant);
  await begin(creator, { bundle: bundleOf(1) });
  const ids = [await begin(byKey, { bundle: bundleOf(1) }), await begin(byMember, { bundle: bundleOf(1) })];
  await cluster.pool.query('update api_key set is_disabled = true where id = $1', [key.id]);
  await cluster.pool.query('delete from membership where user_id = $1', [member.id]);
  await locked[Symbol.asyncDispose]();

  const [ofKey, ofMember] = [await ended(creator, ids[0] ?? ''), await ended(creator, ids[1] ?? '')];
  expect([ofKey.error.code, ofMember.error.code]).toEqual(['INVALID_API_KEY', 'PERMISSION_DENIED']);
  expect(await widgetsOf(tenant)).toBe(2);
});

test('a job that was committed and not noted is not done again', async () => {
  const tenant = await aTenant(cluster);
  const who = cluster.as(tenant.creator).in(tenant);
  await using locked = await holdImports(tenant);
  const id = await begin(who, { bundle: bundleOf(2) });
  const { rows } = await cluster.pool.query<{ request: string }>('select request from import_job where id = $1', [id]);
  await locked[Symbol.asyncDispose]();
  const first = await ended(who, id);

  await cluster.pool.query('update import_job set ended_at = null, request = $2 where id = $1', [id, rows[0]?.request]);
  const again = await ended(who, id);

  expect(again.result).toEqual(first.result);
  expect((await who.get('T/import')).body.imports).toHaveLength(1);
});

test('a tenant has five at most that wait, and creators take turns', async () => {
  const [tenant, other] = [await aTenant(cluster), await aTenant(cluster)];
  const who = cluster.as(tenant.creator).in(tenant);
  const second = await aTenant(cluster, { creator: tenant.creator });
  await using locked = await holdImports(tenant);

  const ids: string[] = [];
  for (let n = 0; n < 5; n += 1) ids.push(await begin(who, { bundle: bundleOf(1) }));
  const sixth = await who.post('T/import/jobs', { bundle: bundleOf(1) });
  const ofSame = cluster.as(second.creator).in(second);
  const waiting = await begin(ofSame, { bundle: bundleOf(1) });
  const ofOther = cluster.as(other.creator).in(other);
  const done = await ended(ofOther, await begin(ofOther, { bundle: bundleOf(1) }));

  expect(sixth).toMatchObject({ status: 429, body: { error: { code: 'RATE_LIMITED' } } });
  expect(done.status).toBe('COMPLETED');
  expect((await jobOf(ofSame, waiting)).status).toBe('QUEUED');
  const states = async () => (await who.get('T/import/jobs')).body.jobs.map(({ status }: { status: string }) => status);
  expect((await states()).sort()).toEqual(['QUEUED', 'QUEUED', 'QUEUED', 'QUEUED', 'RUNNING']);
  await locked[Symbol.asyncDispose]();
  await eventually(async () => expect(new Set(await states())).toEqual(new Set(['COMPLETED'])));
});

test('a job whose processes always end is given up', async () => {
  const tenant = await aTenant(cluster);
  const who = cluster.as(tenant.creator).in(tenant);
  await using locked = await holdImports(tenant);
  const id = await begin(who, { bundle: bundleOf(1) });
  await eventually(async () => expect((await jobOf(who, id)).status).toBe('RUNNING'));
  await cluster.pool.query(
    `update import_job set attempts = 5, lease_until = now() - interval '1 second' where id = $1`,
    [id],
  );

  const job = await ended(who, id);
  await locked[Symbol.asyncDispose]();

  expect(job).toMatchObject({
    status: 'FAILED',
    error: { code: 'INTERNAL_ERROR', message: expect.stringContaining('5 times') },
  });
});
