import { expect, test } from 'vitest';
import { expressionOf, plainOf } from '#ops/console/cron/plain-schedule.ts';

test('expressions that words can say are read and written without a change', () => {
  for (const expression of ['*/15 * * * *', '5 * * * *', '0 9 * * *', '30 6 * * 1-5', '0 0 * * 0', '59 23 31 * *']) {
    const plain = plainOf(expression);
    expect(plain, expression).toBeDefined();
    expect(plain && expressionOf(plain)).toBe(expression);
  }
});

test('expressions that say more are left as they are', () => {
  const others = ['*/7 * * * *', '0 9 * 1 *', '0 9 1 * 1', '0 9,17 * * *', '0 24 * * *', '60 * * * *', '0 9 * * MON'];
  for (const expression of [...others, '*/15 9 * * *', '0 0 9 * * *', '', '@daily', '* * * * *'])
    expect(plainOf(expression), expression).toBeUndefined();
});
