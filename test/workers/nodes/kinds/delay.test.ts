import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { delay } from '#shared/workflow/nodes/kinds/delay.ts';
import { aNodeRun } from '#test/support/node-run.ts';
import type { NodeContext, WaitResult } from '#workers/nodes/executor.ts';
import { runDelay } from '#workers/nodes/kinds/delay.ts';

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['Date'], now: new Date('2026-11-21T12:00:00.000Z') });
});
afterEach(() => {
  vi.useRealTimers();
});

function run(config: object, waitResult?: WaitResult) {
  const task = { config: delay.config.parse(config), run: aNodeRun(), signal: new AbortController().signal };
  return runDelay({ ...task, ...(waitResult && { waitResult }) }, {} as NodeContext);
}

const dynamic = (delayVariable: unknown) => ({ delayType: 'dynamic', delayVariable });
const until = (untilTime: string) => ({ delayType: 'until', untilTime });

describe('a delay', () => {
  test.each([
    [{ delayMinutes: 2, delaySeconds: 3, delayMs: 4 }, 123_004],
    [dynamic(1500), 1500],
    [dynamic('1500.4'), 1500],
    [dynamic('1e3'), 1000],
    [dynamic(86_400_000), 86_400_000],
    [until('2026-11-21T12:00:01.500Z'), 1500],
    [until('2026-11-21T14:00:00+01:00'), 3_600_000],
  ])('of %j parks for %i ms', async (config, ms) => {
    expect(await run(config)).toEqual({ park: 'time', ms });
  });

  test.each([{}, dynamic(0), dynamic('0'), until('2026-11-21T11:59:59Z')])(
    'of %j continues at once',
    async (config) => {
      expect(await run(config)).toMatchObject({ output: { delayedMs: 0, success: true }, exit: 'output' });
    },
  );

  test.each([
    [dynamic('soon'), 'delayVariable: expected milliseconds, received "soon"'],
    [dynamic(''), 'delayVariable: expected milliseconds, received ""'],
    [dynamic(-1), 'delayVariable: expected milliseconds from 0 on, received -1'],
    [dynamic(86_400_001), 'delayVariable: expected at most 24 hours (86400000), received 86400001'],
    [until('tomorrow'), 'untilTime: expected a moment such as 2030-01-31T12:00:00Z, received "tomorrow"'],
    ...['2026-02-30T12:00:00Z', '2026-11-21T12:00:01', '2026-11-21', '1'].map((moment): [object, string] => [
      until(moment),
      `untilTime: expected a moment such as 2030-01-31T12:00:00Z, received "${moment}"`,
    ]),
    [
      until('2026-11-22T12:00:00.001Z'),
      'untilTime: expected a moment within 24 hours, received "2026-11-22T12:00:00.001Z"',
    ],
  ])('of %j is an error', async (config, message) => {
    await expect(run(config)).rejects.toMatchObject({ code: 'VALIDATION_ERROR', message });
  });

  test('tells its duration when it is over', async () => {
    for (const config of [{ delaySeconds: 3 }, dynamic(3000), until('2026-11-21T11:59:59Z')])
      expect(await run(config, { kind: 'time', ms: 2999.6 })).toMatchObject({
        output: { delayedMs: 3000, success: true },
        exit: 'output',
      });
  });

  test('that is over is not undone by a value that another branch has changed meanwhile', async () => {
    for (const value of ['soon', -1, '{{ctx.gone}}'])
      expect(await run(dynamic(value), { kind: 'time', ms: 5 })).toMatchObject({
        output: { delayedMs: 5 },
        exit: 'output',
      });
  });
});
