import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Client } from '#test/support/client.ts';
import { type Cluster, startCluster } from '#test/support/cluster.ts';
import { aTenant, type TestTenant } from '#test/support/factories.ts';

describe("a cached answer of a query on the tenant's own database", () => {
  let cluster: Cluster;
  beforeAll(async () => {
    cluster = await startCluster({ workers: ['query.runs'] });
  });
  afterAll(() => cluster[Symbol.asyncDispose]());

  const dataQueryOptions = { query: 'select current_database() as name, clock_timestamp() as at', cacheSeconds: 600 };

  async function aQuery(): Promise<{ tenant: TestTenant; run: () => Promise<Row> }> {
    const tenant = await aTenant(cluster);
    const api: Client = cluster.as(tenant.creator).in(tenant);
    const { body } = await api.post('T/queries', { dataQueryTitle: 'Own', dataQueryOptions });
    const run = async () => {
      const answer = await api.post(`T/queries/${body.dataQuery.id}/run`);
      expect(answer.status, JSON.stringify(answer.body)).toBe(200);
      const [row] = answer.body.dataQueryResult;
      return { ...row, isCached: answer.body.isCached };
    };
    return { tenant, run };
  }

  test('is never given to another tenant with the same query', async () => {
    const [one, other] = [await aQuery(), await aQuery()];

    const first = await one.run();
    const second = await other.run();

    expect(second.isCached).toBe(false);
    expect(second.name).not.toBe(first.name);
    expect(await one.run()).toEqual({ ...first, isCached: true });
    expect(await other.run()).toEqual({ ...second, isCached: true });
  });

  test('is not used after its time', async () => {
    const { tenant, run } = await aQuery();
    const first = await run();
    expect(await run()).toEqual({ ...first, isCached: true });

    await cluster.pool.query(`update query_cache set expires_at = now() - interval '1 second' where tenant_id = $1`, [
      tenant.id,
    ]);
    const later = await run();

    expect(later.isCached).toBe(false);
    expect(later.at).not.toBe(first.at);
    expect(await run()).toEqual({ ...later, isCached: true });
  });
});

interface Row {
  name: string;
  at: string;
  isCached: boolean;
}
