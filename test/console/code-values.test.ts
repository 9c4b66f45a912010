/** Values of JavaScript in fields of the editor: which others it is given, and what it gives. */
import { afterAll, expect, test } from 'vitest';
import { codeNow } from '#ops/console/values/code-job.ts';
import { type CodeResult, inSandbox } from '#ops/console/values/in-sandbox.ts';
import type { Value, Values } from '#ops/console/values/value.ts';
import type { JsonObject } from '#shared/core/json.ts';
import { createLogger } from '#shared/core/logger.ts';
import { createSandbox } from '#workers/sandbox/pool.ts';

const sandbox = createSandbox({ processes: 1, maxOutputBytes: 100_000 }, createLogger({ level: 'silent' }));
afterAll(() => sandbox[Symbol.asyncDispose]());

const aValue = (path: string[], sample?: unknown, more: Partial<Value> = {}): Value => ({
  ...{ path, name: path.at(-1) ?? '', shape: { type: 'any value' }, sample },
  ...more,
});
const values: Values = {
  input: aValue(['ctx', 'input'], { total: 5 }),
  source: 'test',
  roots: ['ctx', 'vars', 'links'],
  groups: [
    { title: 'Results', values: [aValue(['ctx', 'rows'], [1, 2]), aValue(['ctx', 'decision'])] },
    { title: 'Large', values: [aValue(['ctx', 'large'], undefined, { omittedAt: 'fetch' })] },
    { title: 'Variables', values: [aValue(['vars', 'day'], 'Monday')] },
  ],
  elsewhere: new Map(),
  open: new Set(['links', 'ctx.error']),
};
const given = (code: string, more: Partial<Values> = {}) => {
  const now = codeNow(code, 'code', { ...values, ...more });
  return now?.state === 'job' ? now.job.args : now;
};

test('code is given the values that it names, by any way of naming them, and nothing else', () => {
  expect(given('return 1')).toEqual({});
  expect(given('return ctx.input.total + ctx?.rows["length"] + vars.day')).toEqual({
    ctx: { input: { total: 5 }, rows: [1, 2] },
    vars: { day: 'Monday' },
  });
  expect(given(`return ctx['rows'] ?? ctx?.["rows"]`)).toEqual({ ctx: { rows: [1, 2] } });
  expect(given('return ctx.nothing')).toEqual({ ctx: {} });
  expect(given('return { ...vars, myctx: 1 }')).toEqual({ vars: { day: 'Monday' } });
});

test('what is not known keeps code from running, if the code can read it', () => {
  expect(given('return ctx.decision.approved')).toEqual({ state: 'later', of: ['ctx.decision'] });
  expect(given('return ctx.error?.message')).toEqual({ state: 'later', of: ['ctx.error'] });
  expect(given('return Object.keys(ctx)')).toEqual({ state: 'read', steps: ['fetch'] });
  expect(given('const { decision } = ctx; return decision', { groups: values.groups.slice(0, 1) })).toEqual({
    state: 'later',
    of: ['ctx.decision'],
  });
  expect(given('return vars.other', { open: new Set(['vars']) })).toEqual({ state: 'later', of: ['vars.other'] });
  expect(given('return vars', { open: new Set(['vars']) })).toEqual({ state: 'later', of: ['vars'] });
  expect(given('return ctx.large.length')).toEqual({ state: 'read', steps: ['fetch'] });
});

test('an expression is whether it holds, with its templates filled before; what a template makes no text needs no run', () => {
  const now = (value: unknown) => codeNow(value, 'expression', values);
  expect(now('ctx.input.total > 4')).toEqual({
    state: 'job',
    job: { body: 'return Boolean((\nctx.input.total > 4\n));', args: { ctx: { input: { total: 5 } } } },
  });
  expect(now('{{ctx.input.total}} > 4')).toMatchObject({ job: { body: 'return Boolean((\n5 > 4\n));', args: {} } });
  expect(now('{{ctx.input.total}}')).toEqual({ state: 'value', value: true });
  expect(now('{{ctx.decision}} > 4')).toMatchObject({ state: 'later' });
  expect(now('{{ctx.nothing}}')).toMatchObject({ state: 'fault' });
  expect([now(undefined), now(''), codeNow('', 'code', values)]).toEqual([undefined, undefined, undefined]);
});

test.each([
  ...['return ctx.total * 2', 'return { a: [1, undefined, null], b: undefined, at: new Date(0) }', 'const a = 1;'],
  ...['return await Promise.resolve(vars.day)', 'let vars = 1; return vars', 'total = 1; total += 1; return total'],
  ...['throw new RangeError("no")', 'return 1 +', '}); (() => {', 'const a = 1;\n\nreturn a.b.c', 'return nothing'],
  ...['return () => 1', 'return { n: [1n] }', 'return Symbol("a")', 'throw "text"', 'return typeof setTimeout'],
  ...['return structuredClone({ a: atob("YQ==") })', 'return new URL("a?b=1", "https://shop.example").href'],
  ...['let ctx = 1; return ctx', 'const a = {};\na.a = a; return a'],
])('what the field shows is what the engine makes of it: %s', async (code) => {
  const args: JsonObject = { ctx: { total: 5 }, ...(code.includes('vars') && { vars: { day: 'Monday' } }) };
  const wrapped = code.includes('vars') ? `return (async () => {${code}\n})();` : code;
  const request = { tenantID: 'tenant', code: wrapped, args, timeoutMs: 5_000 };
  const byEngine = await sandbox.run(request, new AbortController().signal).then(
    (value): CodeResult => ({ value }),
    // The compiler of the browser tells no line.
    ({ message }: Error): CodeResult => ({ error: message.replace(/^(SyntaxError.*) \(line \d+\)$/, '$1') }),
  );
  const own = await inSandbox({ body: code, names: Object.keys(args), values: Object.values(args) });
  expect(own).toEqual(byEngine);
});
