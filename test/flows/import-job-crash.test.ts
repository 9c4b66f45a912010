import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { freePort } from '#ops/embedded/ports.ts';
import { newID } from '#shared/core/ids.ts';
import { createClient } from '#test/support/client.ts';
import { startDeployment } from '#test/support/deployment.ts';
import { spawnNode } from '#test/support/process.ts';
import { eventually } from '#test/support/settle.ts';

test('an import whose process is killed is done by the next one, once and whole', async () => {
  const port = await freePort();
  const baseURL = `http://127.0.0.1:${port}`;
  const keyFile = join(tmpdir(), `gantry-test-issuer-${newID()}.json`);
  await using deployment = await startDeployment({ PORT: String(port), DEV_ISSUER_KEY_FILE: keyFile });
  const { pool, env } = deployment;
  const start = async () => {
    const api = spawnNode(['api/main.ts'], env);
    await eventually(async () => expect((await fetch(`${baseURL}/ready`)).ok).toBe(true));
    return api;
  };
  await using first = await start();
  const { token } = (await createClient(baseURL, async () => ({})).post('/dev/token', { email: 'a@example.test' }))
    .body;
  const user = createClient(baseURL, async () => ({ authorization: `Bearer ${token}` }));
  const tenant = (await user.post('/api/v1/tenants', { tenantTitle: 'Imports' })).body.tenant;
  const who = user.in(tenant);
  const items = Array.from({ length: 20 }, (_, n) => ({
    type: 'widget',
    id: newID(),
    payload: { widgetTitle: `Widget ${n}`, widgetType: 'table', widgetConfig: {} },
  }));
  const widgets = async () => {
    const { rows } = await pool.query<{ n: number }>('select count(*)::int as n from widget where tenant_id = $1', [
      tenant.id,
    ]);
    return rows[0]?.n;
  };

  // The last statement of an import writes its row: it is killed when all is written and nothing is committed.
  const client = await pool.connect();
  await client.query('begin; lock table bundle_import in share mode');
  const { job } = (await who.post('T/import/jobs', { bundle: { bundleVersion: 1, items } })).body;
  await eventually(async () => {
    const { rows } = await pool.query(
      `select from pg_stat_activity where wait_event_type = 'Lock' and query like '%bundle_import%'`,
    );
    expect(rows).toHaveLength(1);
  });
  await first.kill('SIGKILL');
  await client.query('rollback');
  client.release();
  await eventually(async () => {
    const { rows } = await pool.query(
      `select from pg_stat_activity where datname = current_database() and application_name = 'gantry.api' and state <> 'idle'`,
    );
    expect(rows).toEqual([]);
  });
  expect(await widgets()).toBe(0);
  // Its claim would last for seconds.
  await pool.query('update import_job set lease_until = now()');
  await using _ = await start();

  await eventually(async () => expect((await who.get(`T/import/jobs/${job.id}`)).body.job.status).toBe('COMPLETED'));
  expect(await widgets()).toBe(20);
  expect((await pool.query('select attempts from import_job')).rows).toEqual([{ attempts: 2 }]);
});
