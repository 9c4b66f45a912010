import { afterAll, beforeAll, expect, test } from 'vitest';
import { freePort } from '#ops/embedded/ports.ts';
import { type Cluster, startCluster } from '#test/support/cluster.ts';
import { testLogger } from '#test/support/environment.ts';
import { aTenant, aWorkflow } from '#test/support/factories.ts';
import { spawnNode } from '#test/support/process.ts';
import { eventually } from '#test/support/settle.ts';
import { createTrailSeals } from '#workers/maintenance/audit/seal-trails.ts';

let cluster: Cluster;
beforeAll(async () => {
  cluster = await startCluster({ workers: false });
});
afterAll(() => cluster[Symbol.asyncDispose]());

/** Clients that ask at once. */
const CLIENTS = 10;
/** Acknowledged changes after which the process is killed. */
const ENOUGH = 120;

test('an API process that is killed under load leaves an entry of every change that it acknowledged', async () => {
  const tenant = await aTenant(cluster);
  const workflow = await aWorkflow(cluster, { tenant });
  const port = await freePort();
  await using api = spawnNode(['api/main.ts'], { ...cluster.env, PORT: String(port) });
  const baseURL = `http://127.0.0.1:${port}`;
  await eventually(async () => expect((await fetch(`${baseURL}/ready`)).ok).toBe(true));

  const client = cluster.as(tenant.creator, { baseURL }).in(tenant);
  const variables: string[] = [];
  const runs: string[] = [];
  let isKilled = false;
  async function ask(name: string): Promise<void> {
    for (let n = 0; !isKilled; n += 1) {
      const created = await client.post('T/variables', { name: `${name}${n}`, value: n });
      if (created.status === 201) variables.push(created.body.variable.id);
      const executed = await client.post(`T/workflows/${workflow.id}/execute`, {});
      if (executed.status === 200) runs.push(executed.body.instanceID);
      // In the middle of the requests of the others.
      if (variables.length + runs.length < ENOUGH || isKilled) continue;
      isKilled = true;
      await api.kill('SIGKILL');
    }
  }
  const clients = Array.from({ length: CLIENTS }, (_, n) => ask(`v${String.fromCharCode(97 + n)}`));
  await Promise.all(clients.map((each) => each.catch(() => expect(isKilled).toBe(true))));

  const { pool } = cluster;
  // Statements that the server had received go on without their process.
  await eventually(async () => {
    const { rows } = await pool.query(
      `select from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid() and state <> 'idle' and client_port > 0`,
    );
    expect(rows).toEqual([]);
  });
  const ofVariables = await pool.query<{ id: string; changed: boolean; entered: boolean }>(
    `select v.id, c.id is not null as changed, e.id is not null as entered from tenant_variable v
     left join audit_record c on c.asset_id = v.id and c.kind = 'change'
     left join audit_record e on e.id = c.entry_id and e.kind = 'entry' where v.tenant_id = $1`,
    [tenant.id],
  );
  expect(ofVariables.rows.map(({ id }) => id)).toEqual(expect.arrayContaining(variables));
  expect(ofVariables.rows.filter(({ changed, entered }) => !changed || !entered)).toEqual([]);
  const ofRuns = await pool.query<{ runs: number; entries: number }>(
    `select (select count(*)::int from workflow_instance where tenant_id = $1) as runs,
       (select count(*)::int from audit_record where tenant_id = $1 and details -> 'request' ->> 'operation' = 'executeWorkflow' and kind = 'entry') as entries`,
    [tenant.id],
  );
  expect(runs.length).toBeGreaterThan(10);
  expect(ofRuns.rows[0]?.runs).toBeGreaterThanOrEqual(runs.length);
  expect(ofRuns.rows[0]?.entries).toBe(ofRuns.rows[0]?.runs);

  await using _ = createTrailSeals({ pool, leads: () => true, logger: testLogger, ageMs: 10 });
  await eventually(async () => {
    const { body } = await cluster.as(tenant.creator).in(tenant).get('T/audit/verify');
    expect(body).toMatchObject({ isIntact: true, problem: null });
    expect(body.rows).toBeGreaterThanOrEqual(variables.length * 2 + runs.length);
  });
});
