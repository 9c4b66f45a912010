import { Worker } from 'node:worker_threads';
import { describe, expect, test, vi } from 'vitest';
import { createMemoryBudget } from '#shared/concurrency/memory-budget.ts';
import { withReservation } from '#shared/concurrency/work-context.ts';
import { findStatements } from '#workers/tenant-database/read-sql.ts';
import { requireExpressions, splitStatements, withoutParentheses } from '#workers/tenant-database/sql-text.ts';

const textsOf = async (sql: string, max = 200) => (await splitStatements(sql, max)).map(({ text }) => text);

describe('statements', () => {
  test('are split at semicolons that end one', async () => {
    expect(await textsOf(' select 1 ;; select (2; 3) ; /* ; */ ; -- ;\nselect \';\', ";", $$;$$')).toEqual([
      'select 1',
      'select (2; 3)',
      '-- ;\nselect \';\', ";", $$;$$',
    ]);
  });

  test('of the body of a routine belong to it', async () => {
    const routine = 'create function f() begin atomic select case when true then 1 end; select 2; end';
    expect(await textsOf(`${routine}; select 3`)).toEqual([routine, 'select 3']);
  });

  test('are not read beyond the limit', async () => {
    expect(await textsOf('select 1;'.repeat(500_000), 200)).toHaveLength(201);
  });
});

describe('long SQL', () => {
  const units = [';', '(', 'a,', "'' ", '$a$ ', '--\n', 'select 1;', '/'];

  test.each(units)('of %j is read as short SQL is, in a thread', async (unit) => {
    const sql = `begin; ${unit.repeat(200_000 / unit.length)}`;
    const here = findStatements(sql, 200).map(({ start, end, words }) => ({
      text: sql.slice(start, end).trim(),
      words,
    }));
    using sent = vi.spyOn(Worker.prototype, 'postMessage');

    expect(await splitStatements(sql, 200)).toEqual(here);
    expect(sent).toHaveBeenCalledOnce();
  });

  test('as an expression has its fault, from a thread', async () => {
    const text = `${'a + '.repeat(50_000)}1)`;

    await expect(requireExpressions([{ text, field: 'check' }])).rejects.toThrow(
      'check: has a parenthesis that was not opened',
    );
    await requireExpressions([{ text: `${'a + '.repeat(50_000)}1`, field: 'check' }]);
  });

  test('of several callers is read one after another', async () => {
    const sql = `${';'.repeat(200_000)}select `;

    const all = await Promise.all([1, 2, 3].map((n) => splitStatements(sql + n, 200)));

    expect(all.map((found) => found.map(({ text }) => text))).toEqual([['select 1'], ['select 2'], ['select 3']]);
  });

  test('counts in the budget of bytes while it is read', async () => {
    const flow = { tenantID: 'a' };
    const read = async (maxBytes: number) => {
      const budget = createMemoryBudget({ maxBytes });
      using reservation = budget.openReservation(flow);
      await withReservation(flow, reservation, () => splitStatements(';'.repeat(200_000), 200));
      return budget.used;
    };

    await expect(read(300_000)).rejects.toMatchObject({ code: 'PAYLOAD_TOO_LARGE' });
    expect(await read(3_000_000)).toBe(0);
  });
});

describe('an expression', () => {
  const faultOf = (text: string) =>
    requireExpressions([{ text, field: 'check' }]).then(
      () => null,
      (error: Error) => error.message,
    );

  test.each([
    ["a > 1 and (b[1] = ')' or c = $$;$$)", null],
    ['(', 'has a parenthesis that is not closed'],
    ['1)', 'has a parenthesis that was not opened'],
    ['(1]', 'has a parenthesis that was not opened'],
    ['1; drop table t', 'must be one expression'],
    ['1 -- more', 'must not contain a comment'],
    ["'a", 'has a quotation that is not closed'],
    [' ', 'must not be empty'],
    [`${'('.repeat(201)}1${')'.repeat(201)}`, 'has more than 200 nested parentheses'],
  ])('%s: %s', async (text, fault) => {
    const message = await faultOf(text);
    if (fault === null) expect(message).toBeNull();
    else expect(message).toContain(fault);
  });

  test.each([
    ['((a) > (b))', '(a) > (b)'],
    ['(a) > (b)', '(a) > (b)'],
    [' ( ( a ) ) ', 'a'],
    ["(')' = a)", "')' = a"],
    ['()', ''],
    ['(a', '(a'],
  ])('%s is %s without the parentheses around it', (text, bare) => {
    expect(withoutParentheses(text)).toBe(bare);
  });
});
