import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { newID } from '#shared/core/ids.ts';
import { retire } from '#workers/maintenance/retention/retire.ts';
import { CHILDREN, DELETE_RUNS, FIND_BY_RULE, findByAge, fromTheOldest } from '#workers/maintenance/retention/runs.ts';
import { type Cluster, startCluster } from '../../support/cluster.ts';
import { explaining } from '../../support/explaining.ts';
import { aMember, aTenant, aWorkflow, type TestTenant } from '../../support/factories.ts';

let cluster: Cluster;
let emptyPlans: string;
let tenant: TestTenant;
beforeAll(async () => {
  cluster = await startCluster({ workers: false, settings: { RUN_RETENTION_MAX_DAYS: '90' } });
  emptyPlans = await plansOf();
});
beforeEach(async () => {
  tenant = await aTenant(cluster);
});
afterAll(() => cluster[Symbol.asyncDispose]());

const admin = () => cluster.as(tenant.creator).in(tenant);
const DAY_MS = 86_400_000;
const FIRST_ID = '00000000-0000-0000-0000-000000000000';

/** Ended runs of the tenant, the first of which ended so many days ago, the others a second after each other. */
async function ended(
  count: number,
  daysAgo: number,
  { workflowID = null as string | null, parentID = null as string | null, isTest = false, of = tenant.id } = {},
): Promise<string[]> {
  const { rows } = await cluster.pool.query<{ id: string }>(
    `insert into workflow_instance (id, tenant_id, workflow_id, version_id, status, caller, deadline_at, is_test, parent_id, created_at, completed_at)
     select uuidv7(), $1, $2, $1, 'COMPLETED', '{}', now(), $5, $6, now(), now() - make_interval(days => $3) + make_interval(secs => n)
     from generate_series(0, $4::int - 1) n returning id`,
    [of, workflowID, daysAgo, count, isTest, parentID],
  );
  return rows.map(({ id }) => id);
}

async function left(of = tenant.id): Promise<string[]> {
  const { pool, config } = cluster;
  const settings = config.worker.retention;
  for (const entry of ['run_retention', 'workflow_instance', 'test_run'] as const)
    await retire(entry, { pool, settings });
  const { rows } = await pool.query<{ id: string }>('select id from workflow_instance where tenant_id = $1', [of]);
  return rows.map(({ id }) => id).sort();
}

const sinceOf = async () => Date.parse((await admin().get('T/accounting')).body.completeSince);

describe('the retention of runs', () => {
  test('is that of the workflow, else that of the tenant, else that of the deployment', async () => {
    const [one, two] = [await aWorkflow(cluster, { tenant }), await aWorkflow(cluster, { tenant })];
    const get = async (path: string) => (await admin().get(path)).body.retention;
    expect(await get('T/retention')).toEqual({
      days: null,
      runs: null,
      inForce: { days: 30, runs: null },
      maxDays: 90,
    });

    expect((await admin().patch('T/retention', { days: 60, runs: 500 })).status).toBe(200);
    const { body } = await admin().patch(`T/workflows/${one.id}/retention`, { days: 5 });

    expect(body.retention).toMatchObject({ days: 5, runs: null, inForce: { days: 5, runs: 500 } });
    expect(await get(`T/workflows/${two.id}/retention`)).toMatchObject({
      days: null,
      inForce: { days: 60, runs: 500 },
    });
    await admin().patch('T/retention', { days: null });
    expect(await get('T/retention')).toMatchObject({ days: null, runs: 500, inForce: { days: 30, runs: 500 } });
    expect(await get(`T/workflows/${one.id}/retention`)).toEqual(body.retention);
  });

  test('is refused by the name of its field, and for callers who may not change what it is of', async () => {
    const workflow = await aWorkflow(cluster, { tenant });
    const other = await aWorkflow(cluster, { tenant: await aTenant(cluster) });
    const member = cluster.as(await aMember(cluster, { tenant, can: ['tenant.read', 'workflow.read'] })).in(tenant);
    const paths = ['T/retention', `T/workflows/${workflow.id}/retention`];
    for (const path of paths) {
      for (const [field, value] of [
        ['days', 91],
        ['days', 0],
        ['runs', 0],
        ['runs', 10_001],
        ['days', '5'],
      ] as const) {
        const { status, body } = await admin().patch(path, { [field]: value });
        expect([status, body.error.details.issues[0].path], `${field} ${value}`).toEqual([400, [field]]);
      }
      expect((await member.get(path)).status).toBe(200);
      expect((await member.patch(path, { days: 1 })).status).toBe(403);
    }
    for (const id of [newID(), other.id]) {
      expect((await admin().get(`T/workflows/${id}/retention`)).status).toBe(404);
      expect((await admin().patch(`T/workflows/${id}/retention`, { days: 1 })).status).toBe(404);
    }
    const { rows } = await cluster.pool.query('select from run_retention where tenant_id = $1', [tenant.id]);
    expect(rows).toEqual([]);
  });

  test('by age deletes what is older, of a deleted workflow too, and a longer one keeps what is', async () => {
    const [short, long] = [await aWorkflow(cluster, { tenant }), await aWorkflow(cluster, { tenant })];
    await admin().patch('T/retention', { days: 10 });
    await admin().patch(`T/workflows/${short.id}/retention`, { days: 2 });
    await admin().patch(`T/workflows/${long.id}/retention`, { days: 60 });
    const retained = [
      ...(await ended(1, 1, { workflowID: short.id })),
      ...(await ended(1, 59, { workflowID: long.id })),
      ...(await ended(1, 9, { workflowID: newID() })),
      ...(await ended(1, 2, { isTest: true })),
    ];
    await ended(2, 3, { workflowID: short.id });
    await ended(1, 61, { workflowID: long.id });
    await ended(1, 11, { workflowID: newID() });
    await ended(1, 4, { isTest: true });
    const other = await aTenant(cluster);
    const [ofOther = ''] = await ended(1, 29, { of: other.id });
    await ended(1, 31, { of: other.id });

    expect(await left()).toEqual(retained.sort());
    expect(await left(other.id)).toEqual([ofOther]);

    // A lower maximum of the deployment counts for what was set before.
    const { pool } = cluster;
    const settings = { ...cluster.config.worker.retention, maxRunsMs: 50 * DAY_MS };
    await retire('run_retention', { pool, settings });
    expect(await left()).toHaveLength(3);
  });

  test('by number keeps the newest of each workflow, with the runs that they have started', async () => {
    const [one, two] = [await aWorkflow(cluster, { tenant }), await aWorkflow(cluster, { tenant })];
    await admin().patch('T/retention', { runs: 3 });
    await admin().patch(`T/workflows/${two.id}/retention`, { runs: 60 });
    const ofOne = await ended(130, 1, { workflowID: one.id });
    const ofTwo = await ended(60, 1, { workflowID: two.id });
    const [oldest = '', newest = ''] = [ofOne[0], ofOne.at(-1)];
    const [child = ''] = await ended(1, 1, { parentID: newest });
    await ended(3, 1, { parentID: oldest });

    expect(await left()).toEqual([...ofOne.slice(-3), child, ...ofTwo].sort());

    const since = await sinceOf();
    const { rows } = await cluster.pool.query<{ at: Date }>(
      'select completed_at as at from workflow_instance where id = $1',
      [ofOne.at(-3)],
    );
    // The newest that is gone ended a second before.
    expect(since).toBe((rows[0]?.at.getTime() ?? 0) - 1_000);
  });

  test('says from when on the accounting is complete', async () => {
    const daysAgo = async () => Math.round((Date.now() - (await sinceOf())) / DAY_MS);
    const workflow = await aWorkflow(cluster, { tenant });
    expect(await daysAgo()).toBe(30);
    await admin().patch(`T/workflows/${workflow.id}/retention`, { days: 5 });
    expect(await daysAgo()).toBe(5);
    await admin().patch(`T/workflows/${workflow.id}/retention`, { days: null });
    await admin().patch('T/retention', { days: 60 });
    // Entries older than the 30 days until now are gone.
    expect(await daysAgo()).toBe(30);
    await cluster.pool.query(`update run_retention set updated_at = now() - interval '100 days' where tenant_id = $1`, [
      tenant.id,
    ]);
    expect(await daysAgo()).toBe(60);
  });

  test('of a tenant with many old runs holds up no other tenant', async () => {
    const others = [await aTenant(cluster), await aTenant(cluster)];
    await cluster.pool.query('delete from workflow_instance');
    for (const { id } of [tenant, ...others]) {
      await cluster.pool.query('insert into run_retention (tenant_id, days) values ($1, 1)', [id]);
      await ended(id === tenant.id ? 300 : 20, 2, { of: id });
    }
    const { pool, config } = cluster;
    const order: string[] = [];
    const watched = new Proxy(pool, {
      get(target, key) {
        if (key !== 'connect') return Reflect.get(target, key, target);
        return async () => {
          const { rows } = await target.query<{ id: string }>('select distinct tenant_id as id from workflow_instance');
          order.push(
            ...[tenant, ...others]
              .map(({ id }) => id)
              .filter((id) => !order.includes(id) && !rows.some((row) => row.id === id)),
          );
          return await target.connect();
        };
      },
    });

    await retire('run_retention', { pool: watched, settings: config.worker.retention });

    expect(order.slice(0, 2).sort()).toEqual(others.map(({ id }) => id).sort());
    expect(await left()).toEqual([]);
  });

  test('is looked for by statements that read a bounded number of runs, planned beside an empty table or a full one', async () => {
    for (const plans of [emptyPlans, await plansOf()]) {
      expect(plans).not.toMatch(/Seq Scan on workflow_instance/);
      expect(
        [...plans.matchAll(/using (workflow_instance\w+) on workflow_instance\b/g)].map(([, name]) => name),
      ).toEqual(
        expect.arrayContaining(['workflow_instance_ended', 'workflow_instance_done', 'workflow_instance_pkey']),
      );
    }
    const { pool, config } = cluster;
    await pool.query('delete from workflow_instance; delete from run_retention');
    await pool.query('insert into run_retention (tenant_id, days, runs) values ($1, 80, 100)', [tenant.id]);
    await ended(99, 40);
    await ended(5_000, 60, { workflowID: newID() });
    await pool.query('vacuum analyze workflow_instance');
    const settings = config.worker.retention;
    const rowsRead = new Map<string, number>();
    const explained = explaining(pool, rowsRead);
    const { rows } = await explained.query<{ ids: string[] }>(FIND_BY_RULE, [tenant.id, FIRST_ID, 90 * 86_400]);
    expect(rows.map(({ ids }) => ids.length)).toEqual([0, 50]);
    await explained.query(findByAge('workflow_instance'), [30 * 86_400, '-infinity']);
    expect([...rowsRead.values()].filter((read) => read > 2_500)).toEqual([]);

    // Entries that a rule retains longer than the deployment are passed over once.
    const looked = fromTheOldest();
    expect(await retire('workflow_instance', { pool, settings, looked })).toBe(0);
    const { rows: next } = await pool.query(findByAge('workflow_instance'), [30 * 86_400, looked.upTo]);
    expect(next).toEqual([]);
  });
});

async function plansOf(): Promise<string> {
  const { pool } = cluster;
  const ids = `array['${newID()}']::uuid[]`;
  const statements = [
    findByAge('workflow_instance').replaceAll('$1', '5').replaceAll('$2', `'-infinity'`),
    findByAge('test_run').replaceAll('$1', '5').replaceAll('$2', `'-infinity'`),
    FIND_BY_RULE.replaceAll('$1', `'${newID()}'`).replaceAll('$2', `'${newID()}'`).replaceAll('$3', '5'),
    CHILDREN.replaceAll('$1', ids).replaceAll('$2', ids),
    DELETE_RUNS.replaceAll('$1', ids),
  ];
  const plans: string[] = [];
  for (const statement of statements) {
    const { rows } = await pool.query<{ 'QUERY PLAN': string }>(
      `explain ${statement.replaceAll('::uuid[]::uuid[]', '::uuid[]')}`,
    );
    plans.push(rows.map((row) => row['QUERY PLAN']).join('\n'));
  }
  return plans.join('\n\n');
}
