import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { newID } from '#shared/core/ids.ts';
import type { JsonObject } from '#shared/core/json.ts';
import { ACCOUNT_OF_TENANTS_EVENTS, COUNT_CONTRADICTIONS } from '#shared/runs/accounting.ts';
import { limitsOf } from '#shared/workflow/limits.ts';
import { WorkflowOptions } from '#shared/workflow/options.ts';
import { type Cluster, startCluster } from '../../support/cluster.ts';
import { aMember, anOperator, aTenant, aWorkflow, type TestTenant } from '../../support/factories.ts';

let cluster: Cluster;
let tenant: TestTenant;
beforeAll(async () => {
  cluster = await startCluster({ workers: false });
});
beforeEach(async () => {
  tenant = await aTenant(cluster);
});
afterAll(() => cluster[Symbol.asyncDispose]());

const admin = () => cluster.as(tenant.creator).in(tenant);
const hourAgo = () => new Date(Date.now() - 3_600_000).toISOString();

/** Each column as SQL; by default a queued run. */
async function aRun(columns: Record<string, string> = {}): Promise<string> {
  const id = newID();
  const all = { ready_at: 'now()', status: `'PENDING'`, caller: `'{"origin": "direct"}'`, ...columns };
  await cluster.pool.query(
    `insert into workflow_instance (id, tenant_id, version_id, deadline_at, ${Object.keys(all).join(', ')})
     values ($1, $2, $3, now() + interval '1 hour', ${Object.values(all).join(', ')})`,
    [id, tenant.id, newID()],
  );
  return id;
}

const ended = (status: string) => ({ status: `'${status}'`, ready_at: 'null', completed_at: 'now()' });
const parked = { status: `'WAITING'`, ready_at: 'null' };

describe('the accounting of runs', () => {
  test('counts what has become of them, by origin', async () => {
    await aRun();
    await aRun({ ready_at: 'null', held_by: `'${newID()}'`, status: `'RUNNING'` });
    await aRun({ ...parked, wake_at: 'now()' });
    const waiting = await aRun(parked);
    await cluster.pool.query(`insert into run_wait (instance_id, node_id, kind) values ($1, 'n', 'input')`, [waiting]);
    await aRun(ended('COMPLETED'));
    await aRun({ ...ended('FAILED'), caller: `'{"origin": "cron"}'` });
    await aRun(ended('CANCELLED'));

    const { status, body } = await admin().get(`T/accounting?from=${hourAgo()}`);

    expect(status).toBe(200);
    expect(body.total).toEqual({ accepted: 7, completed: 1, failed: 1, cancelled: 1, inFlight: 4, difference: 0 });
    const cron = body.hours.filter(({ origin }: { origin: string }) => origin === 'cron');
    expect(cron).toMatchObject([{ accepted: 1, failed: 1, inFlight: 0 }]);
  });

  test('shows runs that nothing continues as a difference', async () => {
    await aRun();
    await aRun(parked);
    await aRun({ ...ended('COMPLETED'), completed_at: 'null' });

    const { body } = await admin().get('T/accounting');

    expect(body.total).toMatchObject({ accepted: 3, inFlight: 1, difference: 2 });
  });

  test('counts a map as one run, at work and afterwards, however many chunks it has', async () => {
    const parent = await aRun({ ...parked });
    await cluster.pool.query(
      `insert into run_wait (instance_id, node_id, kind, ref) values ($1, 'map', 'chunks', $1)`,
      [parent],
    );
    const chunk = { map_id: `'${newID()}'`, parent_id: `'${parent}'` };
    await aRun(chunk);
    await aRun({ ...chunk, ...ended('FAILED') });
    await aRun({ ...chunk, ...ended('COMPLETED') });
    const total = async () => (await admin().get('T/accounting')).body.total;

    expect(await total()).toMatchObject({ accepted: 1, inFlight: 1, failed: 0, difference: 0 });
    await cluster.pool.query(
      `update workflow_instance set status = 'COMPLETED', completed_at = now(), ready_at = null where id = $1`,
      [parent],
    );
    expect(await total()).toMatchObject({ accepted: 1, completed: 1, failed: 0, inFlight: 0, difference: 0 });
  });

  test('balances the events of listeners: each is in one of the states, or a difference', async () => {
    const states = ['done', 'done', 'filtered', 'duplicate', 'dead', 'replaced', 'pending'];
    const [one, two] = [newID(), newID()];
    const anEvent = (state: string, isFinished: boolean, listenerID = one, of = tenant.id) =>
      cluster.pool.query(
        `insert into listener_event (id, tenant_id, listener_id, source, state, finished_at, expires_at)
         values ($1, $2, $3, 'webhook', $4, case when $5 then now() end, case when $5 then now() end)`,
        [newID(), of, listenerID, state, isFinished],
      );
    for (const [at, state] of states.entries()) await anEvent(state, state !== 'pending', at % 2 ? one : two);
    await anEvent('done', true, newID(), (await aTenant(cluster)).id);
    const expected = { received: 7, done: 2, filtered: 1, duplicate: 1, dead: 1, replaced: 1, pending: 1 };

    const { events } = (await admin().get(`T/accounting?from=${hourAgo()}`)).body;
    expect(events.total).toEqual({ ...expected, difference: 0 });
    expect(events.hours).toMatchObject([{ received: 7, difference: 0 }]);
    // A state that the accounting does not know, as a later version may have.
    await cluster.pool.query('alter table listener_event drop constraint listener_event_state_check');
    await anEvent('lost', true, two);
    const total = async () => (await admin().get('T/accounting')).body.events.total;
    expect(await total()).toEqual({ ...expected, received: 8, difference: 1 });

    await cluster.pool.query(
      `update listener_event set state = 'dead', finished_at = now(), expires_at = now() where tenant_id = $1 and state in ('lost', 'pending')`,
      [tenant.id],
    );
    expect(await total()).toMatchObject({ received: 8, dead: 3, pending: 0, difference: 0 });
  });

  test('finds what it counts by an index, planned beside an empty table or a full one', async () => {
    const plan = async (statement: string, ...values: string[]) => {
      const text = values.reduce((sql, value, at) => sql.replaceAll(`$${at + 1}`, `'${value}'`), statement);
      const { rows } = await cluster.pool.query<{ 'QUERY PLAN': string }>(`explain ${text}`);
      return rows.map((row) => row['QUERY PLAN']).join('\n');
    };
    const day = [
      '2026-01-01',
      '2027-01-01',
      '00000000-0000-0000-0000-000000000000',
      'ffffffff-ffff-ffff-ffff-ffffffffffff',
      tenant.id,
    ];
    const plans = async () => [await plan(ACCOUNT_OF_TENANTS_EVENTS, ...day), await plan(COUNT_CONTRADICTIONS)];
    await cluster.pool.query('delete from listener_event');
    await cluster.pool.query('vacuum analyze listener_event');
    const empty = await plans();
    await cluster.pool.query(
      `insert into listener_event (id, tenant_id, listener_id, source, state, finished_at, expires_at)
       select uuidv7(), case when n > 50 then '${newID()}'::uuid else '${tenant.id}' end, '${newID()}', 'webhook', 'done', now(), now() from generate_series(1, 5000) n`,
    );
    await cluster.pool.query('analyze listener_event');
    const filled = await plans();
    expect(filled[0]).toMatch(/using listener_event_page on listener_event e\b/);
    for (const [events = '', contradictions = ''] of [empty, filled]) {
      expect(contradictions).toContain('workflow_instance_contradiction');
      expect(`${events}${contradictions}`).not.toContain('Seq Scan');
    }
  });

  test('leaves out runs of other hours and other tenants', async () => {
    await aRun({ created_at: `now() - interval '3 hours'` });
    const own = tenant;
    tenant = await aTenant(cluster);
    await aRun();

    const { body } = await cluster.as(own.creator).in(own).get(`T/accounting?from=${hourAgo()}`);

    expect(body.total.accepted).toBe(0);
  });

  test('refuses a period without hours or with too many, by the name of the field', async () => {
    for (const query of [`from=${hourAgo()}&to=2026-01-01T00:00:00Z`, 'from=2020-01-01T00:00:00Z']) {
      const { status, body } = await admin().get(`T/accounting?${query}`);
      expect(status).toBe(400);
      expect(body.error.message).toContain('from');
    }
  });

  test('is for callers who may list workflows; operators read that of any tenant and of all', async () => {
    await aRun();
    const member = await aMember(cluster, { tenant });
    const operator = await anOperator(cluster);

    expect((await cluster.as(member).in(tenant).get('T/accounting')).status).toBe(403);
    const one = await cluster.asOperator(operator).get(`/api/v1/operator/tenants/${tenant.id}/accounting`);
    const all = await cluster.asOperator(operator).get('/api/v1/operator/accounting');
    const none = await cluster.asOperator(operator).get(`/api/v1/operator/tenants/${newID()}/accounting`);

    expect(one.body.total.accepted).toBe(1);
    expect(all.body.total.accepted).toBeGreaterThanOrEqual(one.body.total.accepted);
    expect(none.status).toBe(404);
  });
});

describe('the reason why a run waits', () => {
  const reasonOf = async (id: string) => (await admin().get(`T/workflows/instances/${id}`)).body.waitReason;

  beforeAll(async () => {
    await cluster.pool.query(
      `insert into worker_session (id, expires_at, slots, version) values ($1, now() + interval '1 hour', 4, 't')`,
      [newID()],
    );
  });

  // The window is for the runs of one test.
  beforeEach(async () => void (await cluster.pool.query('delete from workflow_instance')));

  async function queued(count: number, options: JsonObject = {}, input: JsonObject = {}): Promise<string[]> {
    const workflow = await aWorkflow(cluster, { tenant });
    const limits = limitsOf(WorkflowOptions.parse(options), { workflowID: workflow.id, input });
    const runs = Array.from({ length: count }, () =>
      cluster.newRun(workflow.versionID, input, {
        tenantID: tenant.id,
        workflowID: workflow.id,
        caller: { type: 'user', id: tenant.creator.id, origin: 'direct' },
        limits,
        // The first ones are ahead.
        priority: 0,
      }),
    );
    const ids = await cluster.runs.acceptMany(runs);
    await cluster.runs.dispatchQueued().catch(() => undefined);
    return ids;
  }

  test('names the limit of the workflow, and how many are ahead', async () => {
    const ids = await queued(4, { maxRunsAtOnce: 1 });

    const reasons = await Promise.all(ids.map(reasonOf));

    expect(reasons.filter(({ code }) => code === 'queue')).toMatchObject([{ position: 0 }]);
    const limited = reasons.filter(({ code }) => code === 'workflow-limit');
    expect(limited.map(({ position }) => position)).toEqual([1, 2, 3]);
    expect(limited.at(-1).message).toBe('2 runs are ahead; the limit of the workflow is 1 at once');
  });

  test('estimates by how long the last runs of the workflow took, for as many at once as may be', async () => {
    const { id, versionID } = await aWorkflow(cluster, { tenant });
    await cluster.pool.query(
      `insert into workflow_instance (id, tenant_id, workflow_id, version_id, status, caller, deadline_at, started_at, completed_at)
       select uuidv7(), $1, $2, $3, 'COMPLETED', '{}', now(), now() - make_interval(secs => s), now() from unnest(array[20, 40]) s`,
      [tenant.id, id, versionID],
    );
    const limits = limitsOf(WorkflowOptions.parse({ maxRunsAtOnce: 2 }), { workflowID: id, input: {} });
    const caller = { type: 'user', id: tenant.creator.id, origin: 'direct' } as const;
    const aRun = () => cluster.newRun(versionID, {}, { tenantID: tenant.id, workflowID: id, caller, limits });
    const ids = await cluster.runs.acceptMany([1, 2, 3, 4, 5].map(aRun));
    await cluster.runs.dispatchQueued().catch(() => undefined);

    const reasons = (await Promise.all(ids.map(reasonOf))).filter(({ code }) => code === 'workflow-limit');

    expect(reasons.map(({ position, estimateSeconds }) => [position, estimateSeconds])).toEqual([
      [1, 15],
      [2, 30],
      [3, 45],
    ]);
  });

  test('names the key, and the run that holds it', async () => {
    const ids = await queued(2, { concurrency: { key: 'customer-{{ctx.input.customer}}', limit: 1 } }, { customer: 7 });

    const [holder = '', waiting = ''] = ids;
    expect(await reasonOf(waiting)).toEqual({
      code: 'key-limit',
      message: `waits for key \`customer-7\`, held by run ${holder}; 0 runs are ahead`,
      position: 1,
      estimateSeconds: null,
    });
  });

  test.each<JsonObject>([{}, { customer: null }, { customer: '' }, { customer: ' ' }])(
    'says that a key is empty with the input %j',
    async (input) => {
      const ids = await queued(2, { concurrency: { key: '{{ctx.input.customer}}', limit: 1 } }, input);

      const [holder = '', waiting = ''] = ids;
      const message = `waits for the empty key, shared by runs without a value for it, held by run ${holder}; 0 runs are ahead`;
      expect(await reasonOf(waiting)).toMatchObject({ code: 'key-limit', message });
    },
  );

  test('names the rate, and when it has a place', async () => {
    const ids = await queued(2, { rate: { limit: 1, per: 'hour' } });
    await cluster.pool.query(
      `update workflow_instance set started_at = now(), dispatched_at = null, ready_at = null, completed_at = now(), status = 'COMPLETED'
       where id = any($1::uuid[]) and dispatched_at is not null`,
      [ids],
    );
    const left = await cluster.pool.query(
      'select id from workflow_instance where id = any($1::uuid[]) and completed_at is null',
      [ids],
    );

    const reason = await reasonOf(left.rows[0]?.id);

    const message = '0 runs are ahead; the rate of the workflow is 1 in 3600 s';
    expect(reason).toMatchObject({ code: 'rate-limit', message, position: 1 });
    expect(reason.estimateSeconds).toBeGreaterThan(3_000);
    expect(reason.estimateSeconds).toBeLessThanOrEqual(3_600);
  });

  test('names the limit of the tenant', async () => {
    await cluster.pool.query('insert into tenant_dispatch (tenant_id, max_runs) values ($1, 1)', [tenant.id]);
    const ids = await queued(2);

    const reasons = await Promise.all(ids.map(reasonOf));

    expect(reasons.map(({ code }) => code).sort()).toEqual(['queue', 'tenant-limit']);
    expect(reasons.find(({ code }) => code === 'tenant-limit')).toMatchObject({
      message: '0 runs are ahead in this workflow; the limit of the tenant is 1 at once',
      position: 1,
    });
  });

  test('is absent once a run has ended', async () => {
    const [id = ''] = await queued(1);
    await cluster.runs.end({ tenantID: null, ids: [id], status: 'CANCELLED', error: null });

    expect(await reasonOf(id)).toBeUndefined();
  });
});
