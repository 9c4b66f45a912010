import { describe, expect, test, vi } from 'vitest';
import { eventLoop } from '#shared/concurrency/event-loop-scheduler.ts';
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

const LENGTH = 200_000;
const long = (unit: string) => unit.repeat(LENGTH / unit.length);

describe('two hundred thousand characters', () => {
  test.each([';', '(', 'a,', "'' ", '$a$ ', '--\n', 'select 1;', '/'])(
    'of %j are read with pauses for the event loop',
    async (unit) => {
      using yields = vi.spyOn(eventLoop, 'yield');
      const clock = vi.spyOn(performance, 'now');
      let ms = 0;
      clock.mockImplementation(() => (ms += 10));

      await splitStatements(long(unit), 200);
      clock.mockRestore();

      // The clock is read after each 256 tokens, and says that it is time.
      expect(yields.mock.calls.length).toBeGreaterThan(0);
    },
  );
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
