import { afterAll, beforeAll, expect, test } from 'vitest';
import type { JsonObject } from '#shared/core/json.ts';
import { aSecretVariable, assetCounts, fillTenant } from '../../support/bundled-tenant.ts';
import type { Client } from '../../support/client.ts';
import { type Cluster, startCluster } from '../../support/cluster.ts';
import { aTenant, type TestTenant } from '../../support/factories.ts';
import { eventually } from '../../support/settle.ts';

let cluster: Cluster;
let source: TestTenant;
let they: Client;
let bundle: Bundle;
beforeAll(async () => {
  cluster = await startCluster({ workers: false });
  source = await aTenant(cluster);
  they = cluster.as(source.creator).in(source);
  await fillTenant(they);
  bundle = await exportOf(they);
});
afterAll(() => cluster[Symbol.asyncDispose]());

interface Item {
  type: string;
  id: string;
  // biome-ignore lint/suspicious/noExplicitAny: tests look into payloads of every shape
  payload: any;
}
interface Bundle {
  items: Item[];
  [field: string]: unknown;
}

async function exportOf(who: Client): Promise<Bundle> {
  const { status, body } = await who.post('T/export', {});
  expect(status, JSON.stringify(body)).toBe(200);
  return body.bundle;
}

async function aTarget(): Promise<{ tenant: TestTenant; who: Client }> {
  const tenant = await aTenant(cluster);
  return { tenant, who: cluster.as(tenant.creator).in(tenant) };
}

/** Secrets of its variables: bundles do not hold them. */
function secretsOf({ items }: Bundle) {
  const secret = items.filter(({ type, payload }) => type === 'variable' && payload.isSecret);
  return secret.map(({ id }) => ({ id, path: ['value'], value: aSecretVariable.value }));
}

async function run(who: Client, given: Bundle, more: JsonObject = {}) {
  const { status, body } = await who.post('T/import/execute', { bundle: given, secrets: secretsOf(given), ...more });
  expect(status, JSON.stringify(body)).toBe(201);
  return body;
}

/** Rows of the tables of assets. */
async function rowsOf(tenantID: string): Promise<number> {
  const tables =
    'folder tenant_variable datasource data_query workflow widget listener app_page dashboard cron_job role bundle_key';
  const counts = tables.split(' ').map((table) => `(select count(*) from ${table} where tenant_id = $1)`);
  const { rows } = await cluster.pool.query<{ n: string }>(`select ${counts.join(' + ')} as n`, [tenantID]);
  return Number(rows[0]?.n);
}

test('a tenant with every kind of assets goes to another one and comes back the same', async () => {
  const { tenant, who } = await aTarget();

  const preview = (await who.post('T/import/preview', { bundle, secrets: secretsOf(bundle) })).body;
  const first = await run(who, bundle);
  const again = await exportOf(who);
  const second = await run(who, bundle, { secrets: [] });

  expect(preview.summary).toMatchObject({ createCount: 100, updateCount: 0, conflictCount: 0, missingSecretCount: 14 });
  expect(first.results).toHaveLength(100);
  expect(first.skipped).toEqual([]);
  expect(first.results.every(({ originalID, newID }: JsonObject) => originalID !== newID)).toBe(true);
  // Keys travel: the ids in the text are the same too.
  expect(again).toEqual({ ...bundle, sourceTenant: tenant.id });
  expect(JSON.stringify(again.items)).toBe(JSON.stringify(bundle.items));
  expect(second.results.every(({ action }: JsonObject) => action === 'unchanged')).toBe(true);
  expect([second.importID, second.message]).toEqual([null, '0 assets imported']);
  const counts = Object.values(assetCounts).reduce((sum, count) => sum + count, 0);
  expect(await rowsOf(tenant.id)).toBe(2 * counts);
  const { rows } = await cluster.pool.query(
    `select (select count(*)::int from workflow_version where tenant_id = $1 and workflow_id is not null) as versions,
            (select count(*)::int from workflow where tenant_id = $1 and version_id is null) as drafts,
            (select count(*)::int from listener where tenant_id = $1 and status <> 'inactive') as active,
            (select count(*)::int from widget where tenant_id = $1 and creator_id = $2) as own`,
    [tenant.id, tenant.creator.id],
  );
  expect(rows[0]).toEqual({ versions: 18, drafts: 1, active: 0, own: 16 });
});

test('a bundle that is imported in two parts gives what the whole gives', async () => {
  const { who } = await aTarget();
  const half = bundle.items.length / 2;

  const first = await run(who, { ...bundle, items: bundle.items.slice(0, half) });
  const second = await run(who, { ...bundle, items: bundle.items.slice(half) });

  expect([first.skipped, second.skipped]).toEqual([[], []]);
  expect((await exportOf(who)).items).toEqual(bundle.items);
});

test('the tenant itself imports its own export without a change', async () => {
  const { body } = await they.post('T/import/preview', { bundle });

  expect(body.summary).toMatchObject({ createCount: 0, updateCount: 0, unchangedCount: 100, missingSecretCount: 0 });
});

test('an import whose connection is lost in the middle leaves nothing', async () => {
  const { tenant, who } = await aTarget();

  const answer = who.post('T/import/execute', { bundle, secrets: secretsOf(bundle) });
  await eventually(async () => {
    const { rowCount } = await cluster.pool.query(
      `select pg_terminate_backend(pid) from pg_stat_activity
       where datname = current_database() and state like 'idle in transaction%' and xact_start < now() - interval '100 ms'`,
    );
    expect(rowCount).toBeGreaterThan(0);
  });

  expect((await answer).status).toBeGreaterThanOrEqual(500);
  expect(await rowsOf(tenant.id)).toBe(0);
  expect((await run(who, bundle)).results).toHaveLength(100);
});
