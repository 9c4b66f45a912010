import { expect, test } from 'vitest';
import { contextFor } from '#workers/nodes/context-keys.ts';

const scope = { a: 1, b: { c: 2 }, 'd-e': 3, rows: [1, 2] };

test.each([
  ['return 1', []],
  ['return ctx.a', ['a']],
  ['return ctx.a + ctx?.b.c + ctx["d-e"]', ['a', 'b', 'd-e']],
  ['return ctx.rows.map((row) => row + ctx.a)', ['a', 'rows']],
  ['const { c } = ctx.b; return c', ['b']],
  ['ctx.a = 2; delete ctx.b; return ctx.missing', ['a', 'b']],
  ['return { ctx: 1, "x": other.ctx, y: ctx.a }', ['a']],
  ['// ctx\nreturn "ctx" + ctx.a', ['a']],
])('%s is sent the keys %j', (code, keys) => {
  expect(Object.keys(contextFor(code, scope)).sort()).toEqual(keys);
});

test.each([
  'return ctx',
  'return ctx[name]',
  'return ctx[`a`]',
  'return Object.keys(ctx)',
  'return { ...ctx }',
  'return { ctx }',
  'const { a } = ctx; return a',
  'const { a, ...rest } = ctx; return rest',
  'const all = ctx; return all.b',
  'for (const key in ctx) return key',
  'return "b" in ctx',
  'return ctx.hasOwnProperty("b")',
  'return (ctx?.hasOwnProperty)("b")',
  'return ctx["propertyIsEnumerable"]("b")',
  'return ctx.toString`x`',
  'class A { static ctx = 1 } return ctx.a',
  'return arguments[0].b',
  'return eval("ctx.b")',
  'with (ctx) return b',
  'return ((ctx) => ctx.b)(ctx)',
  'ctx = { a: ctx.b }',
  'return ctx.a } async function other() { return ctx.b',
  'return ctx.a +',
  `return ctx.a // ${'x'.repeat(20_000)}`,
])('%s is sent all of ctx', (code) => {
  expect(contextFor(code, scope)).toBe(scope);
});

test('keys of the prototype are none of ctx', () => {
  expect(contextFor('return [ctx.constructor, ctx.__proto__]', scope)).toEqual({});
});
