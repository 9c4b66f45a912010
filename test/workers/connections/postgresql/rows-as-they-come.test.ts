import { setTimeout as sleep } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { AppError } from '#shared/core/errors.ts';
import { newID } from '#shared/core/ids.ts';
import type { JsonObject } from '#shared/core/json.ts';
import { postgresql } from '#shared/datasources/types/postgresql.ts';
import { tenantdb } from '#shared/datasources/types/tenantdb.ts';
import { type OpenedDatasource, openDatasource } from '#test/support/connector.ts';
import { tenantServer } from '#test/support/database.ts';
import { testServers } from '#test/support/environment.ts';
import { eventually } from '#test/support/settle.ts';
import { aTenantDatabases, type TestDatabases } from '#test/support/tenant-databases.ts';

let database: TestDatabases;
beforeAll(async () => {
  database = await aTenantDatabases();
});
afterAll(() => database[Symbol.asyncDispose]());

setFlagsFromString('--expose-gc');
const collectGarbage: () => void = runInNewContext('gc');

const types = {
  postgresql: () =>
    openDatasource(postgresql, { connectionOption: 'connectionString', connectionString: testServers.datasourceURL }),
  tenantdb: () =>
    openDatasource(tenantdb, {}, { tenantID: database.deployment.tenantID, tenantDatabases: database.databases }),
};

/** Counts the rows it gets, and does nothing else. */
function aCounter() {
  const counter = { rows: 0, batches: 0, onRows };
  async function onRows(rows: JsonObject[]): Promise<void> {
    counter.rows += rows.length;
    counter.batches += 1;
  }
  return counter;
}

const signal = () => AbortSignal.timeout(120_000);

describe.each(['postgresql', 'tenantdb'] as const)('%s', (type) => {
  let datasource: OpenedDatasource;
  beforeAll(async () => {
    datasource = await types[type]();
  });
  afterAll(() => datasource[Symbol.asyncDispose]());

  test('rows are streamed with the values that an answer would have', async () => {
    const query = `select n, n::int8 as big, '{"a": 12345678901234567890}'::jsonb as doc, array[n] as list
                   from generate_series(1, {{inputs.n}}::int) n`;
    const taken: JsonObject[][] = [];

    const streamed = await datasource.execute(
      { query },
      { n: 30_000 },
      { maxRows: 100_000, onRows: async (rows) => void taken.push(rows) },
    );
    const whole = await datasource.execute({ query }, { n: 30_000 }, { maxRows: 100_000 });

    expect(streamed).toEqual({ data: [], columns: whole.columns, rowCount: 30_000 });
    expect(taken.flat()).toEqual(whole.data);
    expect(taken.length).toBeGreaterThan(2);
  });

  test('many rows are streamed in constant memory', async () => {
    const query = `select n, repeat('x', 500) as t from generate_series(1, 250000) n`;
    await datasource.execute({ query }, {}, { maxRows: 50_000, onRows: aCounter().onRows });
    const counter = aCounter();
    const before = heapUsed();
    let most = before;

    const { rowCount } = await datasource.execute(
      { query },
      {},
      {
        signal: signal(),
        maxRows: 2_000_000,
        onRows: async (rows) => {
          await counter.onRows(rows);
          if (counter.batches % 10 === 0) most = Math.max(most, heapUsed());
        },
      },
    );

    expect([rowCount, counter.rows]).toEqual([250_000, 250_000]);
    expect(most - before).toBeLessThan(50 * 1024 * 1024);
  });

  test('rows are fetched only after the earlier ones were taken', async () => {
    const mark = newID();
    const { promise: taken, resolve } = Promise.withResolvers<void>();
    let batches = 0;
    const answer = datasource.execute(
      { query: `select n, clock_timestamp() as at from generate_series(1, 1000) n /* ${mark} */` },
      {},
      {
        onRows: async () => {
          batches += 1;
          await taken;
        },
      },
    );

    await eventually(() => expect(batches).toBe(1));
    await sleep(200);
    expect(batches).toBe(1);
    resolve();

    expect((await answer).rowCount).toBe(1_000);
    expect(batches).toBeGreaterThan(1);
  });

  test('at most the requested number is streamed, and the answer tells that there were more', async () => {
    for (const maxRows of [1, 50, 51, 999, 1_000]) {
      const counter = aCounter();
      const { rowCount, truncated } = await datasource.execute(
        { query: 'select generate_series(1, 1000) as n' },
        {},
        { maxRows, onRows: counter.onRows },
      );
      expect({ taken: counter.rows, rowCount, truncated }).toEqual({
        taken: maxRows,
        rowCount: maxRows,
        truncated: maxRows < 1_000 ? true : undefined,
      });
    }
  });

  test('rows of growing size are not buffered', async () => {
    let largest = 0;
    let bytes = 0;
    let batches = 0;
    const { rowCount } = await datasource.execute(
      {
        query: `select repeat('x', case when n < 20000 then 10 else 500000 end) as t from generate_series(1, 20060) n`,
      },
      {},
      {
        signal: signal(),
        maxRows: 100_000,
        onRows: async (rows) => {
          const size = rows.reduce((sum, { t }) => sum + String(t).length, 0);
          bytes += size;
          batches += 1;
          largest = Math.max(largest, size);
          await sleep(2);
        },
      },
    );

    // More than the size limit of a single answer.
    expect({ rowCount, bytes }).toEqual({ rowCount: 20_060, bytes: 19_999 * 10 + 61 * 500_000 });
    expect(largest).toBeLessThan(4 * 1024 * 1024);
    expect(batches).toBeLessThan(150);
  });

  test('a consumer that fails ends the query with its error, and its changes are rolled back', async () => {
    const table = `taken_${newID().replaceAll('-', '')}`;
    await datasource.execute({ query: `create table ${table} (n int)` });
    const full = new AppError('QUOTA_EXCEEDED', 'No room left');

    const answer = datasource.execute(
      { query: `insert into ${table} select generate_series(1, 1000) returning n` },
      {},
      { onRows: () => Promise.reject(full) },
    );

    await expect(answer).rejects.toBe(full);
    expect((await datasource.execute({ query: `select count(*)::int as n from ${table}` })).data).toEqual([{ n: 0 }]);
    await datasource.execute({ query: `drop table ${table}` });
  });

  test('a statement without rows streams none', async () => {
    const counter = aCounter();
    const run = { onRows: counter.onRows };

    const empty = await datasource.execute({ query: 'select 1 as n where false' }, {}, run);
    const none = await datasource.execute({ query: `do $$ begin raise notice 'seen'; end $$` }, {}, run);

    expect(empty).toEqual({ data: [], columns: [{ name: 'n', type: 'integer' }], rowCount: 0 });
    expect(none).toEqual({ data: [], notices: ['seen'] });
    expect(counter.batches).toBe(0);
  });

  test('an error among the rows arrives after the earlier rows', async () => {
    const counter = aCounter();
    const answer = datasource.execute(
      { query: 'select 1 / (500 - n) as n from generate_series(1, 1000) n' },
      {},
      { onRows: counter.onRows },
    );

    await expect(answer).rejects.toMatchObject({ code: 'DB_ERROR', details: { postgres_code: '22012' } });
    expect(counter.rows).toBeGreaterThan(0);
    expect(counter.rows).toBeLessThan(500);
  });

  test('an error behind rows that are not passed on leaves the connection usable', async () => {
    const query = `select case when n = 4 then (1 / (n - 4))::text else repeat('x', 800000) end as t
                   from generate_series(1, 10) n`;
    const began = performance.now();

    for (let n = 0; n < 20; n += 1)
      await expect(
        datasource.execute({ query }, {}, { onRows: () => sleep(20).then(() => undefined) }),
      ).rejects.toMatchObject({ code: 'DB_ERROR', details: { postgres_code: '22012' } });
    await datasource.test();

    expect(performance.now() - began).toBeLessThan(10_000);
  });

  test('an abort between two batches ends the query at the server, and the next one is not delayed', async () => {
    const mark = newID();
    const stop = new AbortController();
    const { promise: begun, resolve } = Promise.withResolvers<void>();
    const answer = datasource.execute(
      { query: `select n from generate_series(1, 1000000) n /* ${mark} */` },
      {},
      {
        signal: stop.signal,
        maxRows: 1_000_000,
        onRows: async () => {
          resolve();
          await sleep(300);
        },
      },
    );
    answer.catch(() => undefined);
    await begun;

    stop.abort(new Error('enough'));

    await expect(answer).rejects.toThrow('enough');
    await eventually(async () => {
      const { rows } = await tenantServer.query(
        'select count(*)::int as n from pg_stat_activity where query like $1 and pid <> pg_backend_pid()',
        [`%${mark}%`],
      );
      expect(rows).toEqual([{ n: 0 }]);
    });
    await Promise.all(Array.from({ length: 8 }, () => datasource.test()));
  });
});

/** Memory in use after garbage collection. */
function heapUsed(): number {
  collectGarbage();
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
}
