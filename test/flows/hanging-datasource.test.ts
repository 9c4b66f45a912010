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
      expect((await api.post(`T/queries/${id}/run`)).body).toMatchObject({ dataQueryResult: [{ n: 1 }] });
    };
  };
  const [ofOther, ofBusy] = [await quick(other), await quick(busy)];

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
  for (let n = 0; n < 10; n += 1) await ofOther();
  for (let n = 0; n < 5; n += 1) await ofBusy();
  const endedMeanwhile = ended;
  leave.abort();
  await Promise.all(asked);

  expect(endedMeanwhile).toBeLessThan(HANGING / 2);
});
