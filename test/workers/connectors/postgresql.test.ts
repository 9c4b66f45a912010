import { afterAll, beforeAll, expect, test } from 'vitest';
import { postgresql } from '#shared/datasources/postgresql.ts';
import { type OpenedDatasource, openDatasource } from '#test/support/connector.ts';
import { testServers } from '#test/support/environment.ts';

let datasource: OpenedDatasource;
beforeAll(async () => {
  datasource = await openDatasource(postgresql, {
    connectionOption: 'connectionString',
    connectionString: testServers.databaseURL,
  });
});
afterAll(() => datasource[Symbol.asyncDispose]());

test('it is reached, and a query has its values', async () => {
  await datasource.test();

  const { data } = await datasource.run(
    { query: "select {{inputs.n}}::int + 1 as n, 'a {{inputs.t}}' as t" },
    { n: 1, t: "'" },
  );

  expect(data).toEqual([{ n: 2, t: "a '" }]);
});

test('more rows than wanted are not read', async () => {
  const { data, rowCount, truncated } = await datasource.run(
    { query: 'select generate_series(1, 1000000) as n' },
    {},
    { maxRows: 3 },
  );

  expect({ data, rowCount, truncated }).toEqual({ data: [{ n: 1 }, { n: 2 }, { n: 3 }], rowCount: 3, truncated: true });
});
