import { afterAll, describe, expect, test } from 'vitest';
import { AppError } from '#shared/core/errors.ts';
import type { JsonObject } from '#shared/core/json.ts';
import { createLogger } from '#shared/core/logger.ts';
import { condition } from '#shared/workflow/nodes/kinds/condition.ts';
import { aNodeRun } from '#test/support/node-run.ts';
import type { NodeContext } from '#workers/nodes/executor.ts';
import { runCondition } from '#workers/nodes/kinds/condition.ts';
import { createSandbox } from '#workers/sandbox/pool.ts';

const logger = createLogger({ level: 'silent' });
const sandbox = createSandbox({ processes: 1, maxOutputBytes: 1024 * 1024 }, logger);
afterAll(() => sandbox[Symbol.asyncDispose]());

type BranchInput = { id: string; conditions: object[] } & Record<string, unknown>;
interface Options {
  scope?: JsonObject;
  defaultBranch?: string;
  signal?: AbortSignal;
  in?: typeof sandbox;
}

function run(branches: BranchInput[], options: Options = {}) {
  const { scope = {}, defaultBranch, signal = new AbortController().signal } = options;
  const config = condition.config.parse({ branches, ...(defaultBranch ? { defaultBranch } : {}) });
  return runCondition({ config, run: aNodeRun({ scope }), signal }, { sandbox: options.in ?? sandbox } as NodeContext);
}

const yes = { operator: 'equals', leftValue: 1, rightValue: 1 };
const no = { operator: 'equals', leftValue: 1, rightValue: 2 };
const unmatched = { output: { matched: null, label: null, success: true }, exit: 'default' };

function matched(id: string, label = id) {
  return { output: { matched: id, label, success: true }, exit: id };
}

describe('branches', () => {
  test('the first branch that holds is taken', async () => {
    const branches = [
      { id: 'a', conditions: [no] },
      { id: 'b', label: 'B!', conditions: [yes] },
      { id: 'c', conditions: [yes] },
    ];

    expect(await run(branches)).toEqual(matched('b', 'B!'));
  });

  test('a branch without a label is named by its name, or by its id', async () => {
    expect(await run([{ id: 'a', name: 'Name', conditions: [yes] }])).toEqual(matched('a', 'Name'));
    expect(await run([{ id: 'a', conditions: [yes] }])).toEqual(matched('a', 'a'));
  });

  test('no branch holds: the default is taken, by its configured name', async () => {
    expect(await run([{ id: 'a', conditions: [no] }])).toEqual(unmatched);
    expect(await run([{ id: 'a', conditions: [no] }], { defaultBranch: 'else' })).toEqual({
      ...unmatched,
      exit: 'else',
    });
  });

  test.each([
    ['AND', [yes, yes], true],
    ['AND', [yes, no], false],
    ['AND', [no, yes], false],
    ['OR', [no, yes], true],
    ['OR', [yes, no], true],
    ['OR', [no, no], false],
    [undefined, [yes, no], false],
  ])('%s of %j', async (conditionLogic, conditions, holds) => {
    const taken = await run([{ id: 'a', conditions, ...(conditionLogic ? { conditionLogic } : {}) }]);

    expect(taken).toEqual(holds ? matched('a') : unmatched);
  });

  test('plain comparisons need no sandbox', async () => {
    await using closed = createSandbox({ processes: 1, maxOutputBytes: 1000 }, logger);

    expect(
      await run([{ id: 'a', conditions: [yes, { operator: 'greater_than', leftValue: '3', rightValue: 2 }] }], {
        in: closed,
      }),
    ).toEqual(matched('a'));
    expect(closed.processes).toBe(0);
  });
});

describe('regular expressions', () => {
  test.each([
    ['order-123', '^order-\\d+$', true],
    ['order-x', '^order-\\d+$', false],
    [12345, '^\\d{5}$', true],
    [null, '^$', true],
    ['anything', '(unclosed', false],
    [`${'a'.repeat(40)}!`, '^(?:b|[a!]+)$', true],
  ])('%j matches %s: %j', async (leftValue, rightValue, holds) => {
    const conditions = [{ operator: 'matches_regex', leftValue, rightValue }];

    expect(await run([{ id: 'a', conditions }])).toEqual(holds ? matched('a') : unmatched);
  });

  test('a pattern that never ends counts as false after 5 s, and does not block this process', async () => {
    let ticks = 0;
    const timer = setInterval(() => (ticks += 1), 10);
    const start = performance.now();
    const conditions = [{ operator: 'matches_regex', leftValue: `${'a'.repeat(40)}!`, rightValue: '^(a+)+$' }];

    const taken = await run([
      { id: 'a', conditions },
      { id: 'b', conditions: [yes] },
    ]);

    clearInterval(timer);
    expect(taken).toEqual(matched('b'));
    expect(performance.now() - start).toBeGreaterThan(4900);
    expect(ticks).toBeGreaterThan(20);
  });
});

describe('expressions', () => {
  test.each<[string, unknown, boolean]>([
    ['a comparison', 'ctx.input.amount > 100 && ctx.input.tags.includes("vip")', true],
    ['a false one', 'ctx.input.amount > 1000', false],
    ['any truthy value', 'ctx.input', true],
    ['a function', '() => 1', true],
    ['a falsy value', 'ctx.input.missing', false],
    ['an awaited value', 'await Promise.resolve(true)', true],
    ['several lines and a comment', 'ctx.input.amount\n  > 100 // enough', true],
    ['an error', 'ctx.missing.deeper', false],
    ['a syntax error', 'ctx.input >', false],
    ['nothing', '', false],
    ['a template that was the whole of it: true', true, true],
    ['a template that was the whole of it: 0', 0, false],
    ['a template that was the whole of it: null', null, false],
    ['the outside', 'typeof process !== "undefined" || typeof require !== "undefined"', false],
  ])('%s', async (_, leftValue, holds) => {
    const scope = { input: { amount: 150, tags: ['vip'] } };
    const conditions = [{ operator: 'expression', leftValue }];

    expect(await run([{ id: 'a', conditions }], { scope })).toEqual(holds ? matched('a') : unmatched);
  });

  test.each([
    ['OR', [no, { operator: 'expression', leftValue: 'true' }], true],
    ['OR', [{ operator: 'expression', leftValue: 'broken(' }, yes], true],
    ['AND', [yes, { operator: 'expression', leftValue: 'true' }, yes], true],
    ['AND', [{ operator: 'expression', leftValue: 'true' }, no], false],
    ['AND', [yes, { operator: 'expression', leftValue: 'false' }], false],
  ])('together with plain comparisons: %s of %j', async (conditionLogic, conditions, holds) => {
    expect(await run([{ id: 'a', conditionLogic, conditions }])).toEqual(holds ? matched('a') : unmatched);
  });
});

describe('a failure that the condition did not cause is an error, not an answer', () => {
  const conditions = [{ operator: 'expression', leftValue: 'true' }];

  test('a closed sandbox', async () => {
    const closed = createSandbox({ processes: 1, maxOutputBytes: 1000 }, logger);
    await closed[Symbol.asyncDispose]();

    await expect(run([{ id: 'a', conditions }], { in: closed })).rejects.toMatchObject({ code: 'UNAVAILABLE' });
  });

  test('an abort, with its reason', async () => {
    const abort = new AbortController();
    const reason = new AppError('NODE_TIMEOUT', 'the node took too long');
    const loop = [{ operator: 'expression', leftValue: '(() => { for (;;); })()' }];
    const taken = run([{ id: 'a', conditions: loop }], { signal: abort.signal });
    setTimeout(() => abort.abort(reason), 50);

    await expect(taken).rejects.toBe(reason);
  });
});
