import { describe, expect, test } from 'vitest';
import { newID } from '#shared/core/ids.ts';
import type { Json, JsonObject } from '#shared/core/json.ts';
import type { ExecuteOptions } from '#workers/connections/connection.ts';
import type { OpenedDatasource } from './connector.ts';
import { eventually } from './settle.ts';

interface Dialect {
  /** Another account with the same database. */
  open(): OpenedDatasource;
  /** The type of a row that the tests add. */
  createTable: string;
  /** A statement that waits for `ms` and adds a row. */
  slowInsert(ms: number): string;
  /** Statements that end the transaction by themselves. */
  refused: readonly string[];
  /** Makes every receipt old. */
  makeOld: string;
}

/** Tests of receipts, the same for each datasource type that has them. */
export function describeReceipts({ open, createTable, slowInsert, refused, makeOld }: Dialect): void {
  describe('exactly once', () => {
    const table = 'once_only';

    async function run(query: string, idempotencyKey: string | null, more: Partial<ExecuteOptions> = {}) {
      return await open().execute({ query }, {}, { idempotencyKey, isOnce: true, ...more });
    }

    async function single(query: string): Promise<Json> {
      const { data } = await open().execute({ query });
      return Number(Object.values((data as JsonObject[])[0] ?? {})[0]);
    }

    const count = (name = table) => single(`select count(*) as n from ${name}`);
    const insert = `insert into ${table} (note) values ('a'), ('b')`;

    async function begin(): Promise<string> {
      await open().execute({ query: `drop table if exists ${table}` });
      await open().execute({ query: createTable.replace('$table', table) });
      return `run.node.${newID()}`;
    }

    test('a repeated attempt changes nothing, and gets the result of the first', async () => {
      await open().execute({ query: 'drop table if exists gantry_receipt' });
      const key = await begin();

      const first = await run(insert, key);
      const second = await run(insert, key);
      const other = await run(insert, `${key}-1`);

      expect(first.affectedRows).toBe(2);
      expect(second).toEqual(first);
      expect(other).toEqual(first);
      expect(await count()).toBe(4);
      const read = `select note from ${table} order by note`;
      const rows = await run(read, `${key}-2`);
      await run(insert, `${key}-3`);
      expect(await run(read, `${key}-2`)).toEqual(rows);
    });

    test('two attempts at the same moment change something once, and have one result', async () => {
      const key = await begin();

      const results = await Promise.all([run(slowInsert(300), key), run(slowInsert(300), key)]);

      expect(results[1]).toEqual(results[0]);
      expect(await count()).toBe(1);
    });

    test('an attempt that failed leaves no receipt', async () => {
      const key = await begin();

      await expect(run(`insert into ${table} (nothing) values (1)`, key)).rejects.toMatchObject({ code: 'DB_ERROR' });
      await expect(run(slowInsert(60_000), key, { signal: AbortSignal.timeout(300) })).rejects.toThrow();
      await eventually(async () => {
        await run(insert, key);
        expect(await count()).toBe(2);
      });
    });

    test('a result that no receipt can hold undoes the statement', async () => {
      const key = await begin();
      await open().execute({ query: `insert into ${table} (note) values ('${'x'.repeat(100_000)}')` });
      const large = Array.from({ length: 60 }, () => `select note from ${table}`).join(' union all ');

      await expect(run(large, key)).rejects.toMatchObject({ code: 'OUTPUT_TOO_LARGE' });

      expect((await run(insert, key)).affectedRows).toBe(2);
    });

    test.each(refused)('%s is refused', async (query) => {
      const key = await begin();

      await expect(run(query, key)).rejects.toMatchObject({
        code: 'VALIDATION_ERROR',
        details: { issues: [{ path: ['query'] }] },
      });
    });

    test('receipts past their time are deleted by later ones', async () => {
      const key = await begin();
      for (let n = 0; n < 3; n += 1) await run(insert, `${key}-${n}`);
      await open().execute({ query: makeOld });
      const before = Number(await count('gantry_receipt'));

      await run(insert, `${key}-new`);

      expect(before).toBeGreaterThanOrEqual(3);
      expect(await count('gantry_receipt')).toBeLessThanOrEqual(Math.max(before - 10, 0) + 1);
    });
  });
}
