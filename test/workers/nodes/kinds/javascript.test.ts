import { afterAll, expect, test } from 'vitest';
import type { JsonObject } from '#shared/core/json.ts';
import { createLogger } from '#shared/core/logger.ts';
import { javascript } from '#shared/workflow/nodes/kinds/javascript.ts';
import { aNodeRun } from '#test/support/node-run.ts';
import type { NodeContext } from '#workers/nodes/executor.ts';
import { runJavascript } from '#workers/nodes/kinds/javascript.ts';
import { createSandbox } from '#workers/sandbox/pool.ts';

const logger = createLogger({ level: 'silent' });
const sandbox = createSandbox({ processes: 1, maxOutputBytes: 1000 }, logger);
afterAll(() => sandbox[Symbol.asyncDispose]());

interface Options {
  scope?: JsonObject;
  timeoutMs?: number;
  signal?: AbortSignal;
}

function run(config: { code: string; outputVariable?: string }, options: Options = {}) {
  const { scope = {}, timeoutMs = 5000, signal = new AbortController().signal } = options;
  return runJavascript({ config: javascript.config.parse(config), run: aNodeRun({ scope, timeoutMs }), signal }, {
    sandbox,
  } as NodeContext);
}

test('the value is stored in the output variable', async () => {
  const done = await run({ code: 'return ctx.input.a + 1', outputVariable: 'sum' }, { scope: { input: { a: 1 } } });

  expect(done).toEqual({ output: { sum: 2, success: true }, exit: 'success' });
});

test('without a name and a return value, scriptResult is null', async () => {
  expect(await run({ code: 'ctx.input' })).toEqual({ output: { scriptResult: null, success: true }, exit: 'success' });
});

test('changes of ctx do not leave the code', async () => {
  const scope = { input: { list: [1] } };

  const done = await run({ code: 'ctx.input.list.push(2); ctx.extra = 1; return ctx.input.list' }, { scope });

  expect(done).toMatchObject({ output: { scriptResult: [1, 2] } });
  expect(scope).toEqual({ input: { list: [1] } });
});

test('code is sent only the keys of ctx that it names', async () => {
  const sent: unknown[] = [];
  const recording = {
    run: (...request: Parameters<typeof sandbox.run>) => {
      sent.push(request[0].args);
      return sandbox.run(...request);
    },
  };
  const scope = { input: { a: 1 }, rows: ['large'] };
  const config = javascript.config.parse({ code: 'return [ctx.input.a, ctx.missing]' });
  const task = { config, run: aNodeRun({ scope }), signal: new AbortController().signal };

  const done = await runJavascript(task, { sandbox: recording } as unknown as NodeContext);

  expect(done).toMatchObject({ output: { scriptResult: [1, null] } });
  expect(sent).toEqual([{ ctx: { input: { a: 1 } } }]);
});

test('only ctx, console and the globals of the language are in scope', async () => {
  const code = 'return [typeof ctx, typeof process, typeof require, typeof fetch, typeof setTimeout, typeof console]';

  expect(await run({ code })).toMatchObject({
    output: { scriptResult: ['object', ...new Array(4).fill('undefined'), 'object'] },
  });
});

test.each([
  ['throw new Error("boo")', 'NODE_FAILED', true],
  ['return missing', 'NODE_FAILED', false],
  ['for (;;);', 'NODE_TIMEOUT', true],
  ['return "x".repeat(2000)', 'OUTPUT_TOO_LARGE', false],
  ['return () => 1', 'INVALID_OUTPUT', false],
])('%s fails the node with %s', async (code, errorCode, retry) => {
  await expect(run({ code }, { timeoutMs: 200 })).rejects.toMatchObject({ code: errorCode, retry });
});

test('code that takes too long is told where its limit is set', async () => {
  await expect(run({ code: 'for (;;);' }, { timeoutMs: 100 })).rejects.toMatchObject({
    message: 'The code did not finish within 100 ms (a test)',
  });
});

test('stopping the node ends the code', async () => {
  const abort = new AbortController();
  const reason = new Error('stopped');
  const stopped = run({ code: 'for (;;);' }, { signal: abort.signal, timeoutMs: 60_000 });
  setTimeout(() => abort.abort(reason), 50);

  await expect(stopped).rejects.toBe(reason);
  expect(await run({ code: 'return 1' })).toMatchObject({ output: { scriptResult: 1 } });
});
