import { expect, test } from 'vitest';
import type { Client } from '../support/client.ts';
import { startCluster } from '../support/cluster.ts';
import { aDataQuery, aDatasource, aTenant, type TestTenant } from '../support/factories.ts';
import { startTCP } from '../support/tcp.ts';

const HANGING = 100;

test(`${HANGING} queries of one tenant to a server that never answers delay no query of another, nor of its other datasources`, async () => {
  await using cluster = await startCluster({ workers: ['query.runs', 'datasource.tests'] });
  await using silent = await startTCP();
  const [busy, other] = [await aTenant(cluster), await aTenant(cluster)];
  const connectionString = `postgres://user:password@127.0.0.1:${silent.port}/database`;
  const hanging = await aDatasource(cluster, {
    tenant: busy,
    options: { connectionOption: 'connectionString', connectionString },
  });
  const stuck = await aDataQuery(cluster, { tenant: busy, datasource: hanging });
  const quick = async (tenant: TestTenant) => {
    const { id } = await aDataQuery(cluster, { tenant });
    const api: Client = cluster.as(tenant.creator).in(tenant);
    return async () => {
      const started = performance.now();
      expect((await api.post(`T/queries/${id}/run`)).body).toMatchObject({ dataQueryResult: [{ n: 1 }] });
      return performance.now() - started;
    };
  };
  const [ofOther, ofBusy] = [await quick(other), await quick(busy)];
  const alone = await times(20, ofOther);

  const leave = new AbortController();
  const headers = { authorization: `Bearer ${await cluster.tokenFor(busy.creator)}` };
  const url = `${cluster.baseURL}/api/v1/tenants/${busy.id}/queries/${stuck.id}/run`;
  let ended = 0;
  const asked = Array.from({ length: HANGING }, () =>
    fetch(url, { method: 'POST', headers, signal: leave.signal })
      .then((response) => response.text())
      .catch(() => undefined)
      .finally(() => {
        ended += 1;
      }),
  );
  await silent.connected;
  const meanwhile = await times(20, ofOther);
  const own = await times(5, ofBusy);
  const endedMeanwhile = ended;
  leave.abort();
  await Promise.all(asked);

  expect(endedMeanwhile).toBeLessThan(HANGING / 2);
  expect(Math.max(...meanwhile)).toBeLessThan(Math.max(...alone) + 1_500);
  expect(Math.max(...own)).toBeLessThan(3_000);
  if (process.env.SHOW_FIGURES) console.log({ alone: Math.max(...alone), meanwhile: Math.max(...meanwhile), own });
});

async function times(count: number, measure: () => Promise<number>): Promise<number[]> {
  const all = [];
  for (let n = 0; n < count; n += 1) all.push(await measure());
  return all;
}
