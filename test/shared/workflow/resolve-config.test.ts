import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { runSync } from '#shared/concurrency/cooperative.ts';
import { AppError } from '#shared/core/errors.ts';
import type { Json, JsonObject } from '#shared/core/json.ts';
import { compileGraph, type GraphNode } from '#shared/workflow/graph/graph.ts';
import { contextPatch, hasTemplate, resolveConfig, resolveTemplates } from '#shared/workflow/resolve-config.ts';

const scope: JsonObject = {
  input: { id: 7, name: 'Ada', 'user-name': 'ada', yes: true, none: null, zero: 0, tags: ['a', 'b'], nested: [[1, 2]] },
  price: '$& $1 $$ {{ctx.input.id}}',
  '12345678901234567890': 'long',
  'a}}b': 'braces',
  größe: 3,
};

function resolved(value: Json): Json {
  return resolveTemplates(value, scope);
}

describe('a text that is one template', () => {
  test('takes the value with its type', () => {
    expect(resolved('{{ctx.input.id}}')).toBe(7);
    expect(resolved('{{ ctx.input.yes }}')).toBe(true);
    expect(resolved('{{ctx.input.none}}')).toBeNull();
    expect(resolved('{{ctx.input.tags}}')).toBe((scope.input as JsonObject).tags);
    expect(resolved('{{ctx}}')).toBe(scope);
  });

  test('is null when the path has no value', () => {
    for (const path of [
      'ctx.missing',
      'ctx.missing.deeper',
      'ctx.input.id.deeper',
      'ctx.input.none.x',
      'ctx.input.tags[9]',
    ])
      expect(resolved(`{{${path}}}`)).toBeNull();
  });

  test('reads dots, brackets, quoted keys, indexes and optional chaining', () => {
    const paths: [string, Json][] = [
      ['ctx["input"].id', 7],
      ["ctx['input']['user-name']", 'ada'],
      ['ctx?.input?.id', 7],
      ['ctx?.["input"]?.tags?.[1]', 'b'],
      ['ctx.input.tags[0]', 'a'],
      ['ctx.input.tags.1', 'b'],
      ['ctx.input.tags["1"]', 'b'],
      ['ctx.input.tags.length', 2],
      ['ctx.input.nested[0][1]', 2],
      ['ctx . input [ "id" ]', 7],
      ['ctx\n  .input\n  .id', 7],
      ['ctx["12345678901234567890"]', 'long'],
      ['ctx["a}}b"]', 'braces'],
      ['ctx.größe', 3],
    ];

    for (const [path, value] of paths) expect([path, resolved(`{{${path}}}`)]).toEqual([path, value]);
  });

  test('with a space around it is a text', () => {
    expect(resolved(' {{ctx.input.id}}')).toBe(' 7');
    expect(resolved('{{ctx.input.id}}{{ctx.input.id}}')).toBe('77');
  });
});

describe('a text with templates in it', () => {
  test('has every value inserted as text', () => {
    expect(
      resolved('{{ctx.input.name}} has {{ctx.input.id}}, {{ctx.input.name}}: {{ctx.input.yes}} {{ctx.input.zero}}'),
    ).toBe('Ada has 7, Ada: true 0');
  });

  test('has nothing inserted for a missing value', () => {
    expect(resolved('[{{ctx.input.none}}|{{ctx.missing}}]')).toBe('[|]');
  });

  test('has objects and lists inserted as JSON', () => {
    expect(resolved('tags: {{ctx.input.tags}}')).toBe('tags: ["a","b"]');
    expect(resolveTemplates('is {{ctx.a}}', { a: { b: 1 } })).toBe('is {"b":1}');
  });

  test('has values inserted literally, neither as patterns nor as templates', () => {
    expect(resolved('costs {{ctx.price}}!')).toBe('costs $& $1 $$ {{ctx.input.id}}!');
    expect(resolved('{{ctx.price}}')).toBe('$& $1 $$ {{ctx.input.id}}');
  });

  test('keeps braces that never close', () => {
    expect(resolved('a {{ctx.input.id')).toBe('a {{ctx.input.id');
    expect(resolved('{{ctx.input.id}} {{ctx.input')).toBe('7 {{ctx.input');
    expect(resolved('}} {{ctx.input.id}}')).toBe('}} 7');
    expect(resolved('{ {ctx.input.id} }')).toBe('{ {ctx.input.id} }');
  });
});

describe('templates cannot read', () => {
  test('other roots', () => {
    for (const path of ['state.a', 'event', 'globalThis.process', 'input.id', 'Ctx.input.id', 'ctxx.input'])
      expect(resolved(`{{${path}}}`)).toBeNull();
  });

  test('prototypes, even when they are own properties', () => {
    const own: JsonObject = JSON.parse('{"__proto__": {"a": 1}, "constructor": {"a": 1}, "prototype": {"a": 1}}');
    for (const key of ['__proto__', 'constructor', 'prototype'])
      for (const path of [`ctx.${key}`, `ctx["${key}"].a`, `ctx?.${key}`, `ctx.list.${key}`])
        expect(resolveTemplates(`{{${path}}}`, own)).toBeNull();
  });

  test('inherited properties', () => {
    for (const path of [
      'ctx.toString',
      'ctx.hasOwnProperty',
      'ctx.input.tags.map',
      'ctx.input.name.length',
      'ctx.input.valueOf',
    ])
      expect(resolved(`{{${path}}}`)).toBeNull();
  });

  test('operators and calls', () => {
    for (const text of ['ctx.input.id + 1', 'ctx.input.tags.map(x)', 'ctx.input.id || 1', '`x`', '7', '', 'ctx[input]'])
      expect(resolved(`{{${text}}}`)).toBeNull();
  });
});

describe('a value that contains texts', () => {
  test('is resolved at every depth, with its keys unchanged', () => {
    const value = { a: ['{{ctx.input.id}}', { b: 'x{{ctx.input.id}}' }], '{{ctx.input.name}}': 1, n: null, t: true };

    expect(resolved(value)).toEqual({ a: [7, { b: 'x7' }], '{{ctx.input.name}}': 1, n: null, t: true });
    expect(value.a[0]).toBe('{{ctx.input.id}}');
  });

  test('is the same object when nothing has to be resolved', () => {
    const value = { a: [1, { b: 'text' }] };

    expect(resolved(value)).toBe(value);
  });

  test('may hold a key called __proto__', () => {
    const value: Json = JSON.parse('{"__proto__": "{{ctx.input.tags}}", "a": "{{ctx.input.id}}"}');

    const result = resolved(value);

    expect(Object.getPrototypeOf(result)).toBe(Object.prototype);
    expect(JSON.stringify(result)).toBe('{"__proto__":["a","b"],"a":7}');
  });

  test('keeps its raw fields, at the top level only', () => {
    const value = { code: '{{ctx.input.id}}', deep: { code: '{{ctx.input.id}}' } };

    expect(resolveTemplates(value, scope, { raw: ['code'] })).toEqual({ code: '{{ctx.input.id}}', deep: { code: 7 } });
  });

  test('may use another root', () => {
    expect(resolveTemplates('{{inputs.input.id}}/{{ctx.input.id}}', scope, { root: 'inputs' })).toBe('7/');
  });
});

test('has a template when any of its texts has one, raw fields aside', () => {
  expect(hasTemplate('{{ctx.a}}')).toBe(true);
  expect(hasTemplate({ a: [{ b: 'x {{ctx.a}}' }] })).toBe(true);
  expect(hasTemplate({ a: ['{{ctx.a', 1, null, true] })).toBe(false);
  expect(hasTemplate({ '{{ctx.a}}': 1 })).toBe(false);
  expect(hasTemplate({ code: '{{ctx.a}}' }, ['code'])).toBe(false);
  expect(hasTemplate({ code: '{{ctx.a}}', a: { code: '{{ctx.a}}' } }, ['code'])).toBe(true);
});

const json = fc.jsonValue({ maxDepth: 3 }) as fc.Arbitrary<Json>;

test('any key can be read in quotes, and values are unchanged', () => {
  const key = fc
    .string()
    .filter((text) => !/["]/.test(text) && !['__proto__', 'prototype', 'constructor'].includes(text));
  fc.assert(
    fc.property(key, json, (name, value) => {
      const own = Object.fromEntries([[name, value]]);

      expect(resolveTemplates(`{{ctx["${name}"]}}`, own)).toEqual(value);
    }),
  );
});

test('texts around templates are kept, with any characters', () => {
  const text = fc
    .string({ unit: fc.constantFrom('a', '$', '&', '{', '}', '"', "'", ' ') })
    .filter((t) => !/\{\{|\{$/.test(t));
  fc.assert(
    fc.property(text, text, text, (before, value, after) => {
      expect(resolveTemplates(`${before}{{ctx.v}}|${after}`, { v: value })).toBe(`${before}${value}|${after}`);
    }),
  );
});

test('no text takes long or throws', () => {
  const pieces = fc.constantFrom('{{', '}}', 'ctx', '.', '?.', '[', ']', '"', "'", ' ', '0', 'a', '__proto__', '\\');
  fc.assert(
    fc.property(fc.array(pieces, { maxLength: 30 }), (parts) => {
      resolveTemplates(parts.join(''), scope);
    }),
    { numRuns: 2_000 },
  );

  const hostile = [
    '{{',
    '{{ctx["',
    '{{ctx.a',
    '{{ctx[\'"',
    '{{ ',
    '{{ctx   ',
    '{{ctx[ ',
    '}}{{ctx["}}',
    '{{ctx?.',
    '{{a.',
  ];
  for (const piece of hostile) resolveTemplates(piece.repeat(50_000), scope);
});

test('thousands of different templates are each resolved correctly', () => {
  for (let round = 0; round < 2; round += 1)
    for (let index = 0; index < 5_000; index += 1)
      expect(resolveTemplates(`${index}:{{ctx.input.id}}`, scope)).toBe(`${index}:7`);
});

function aNode(type: string, data: JsonObject): GraphNode {
  const { nodes } = runSync(
    compileGraph(
      [
        { id: 's', type: 'start', data: {} },
        { id: 'n', type, data },
      ],
      [{ id: 'e', source: 's', target: 'n' }],
    ),
  );
  const [, node] = nodes;
  if (!node) throw new Error('the graph has two nodes');
  return node;
}

describe('the config of a node', () => {
  test('without templates is the one parsed when the graph was compiled', () => {
    const node = aNode('javascript', { code: 'return "{{ctx.input.id}}";' });

    expect(resolveConfig(node, scope)).toBe(node.config);
  });

  test('with templates is resolved and then parsed', () => {
    const node = aNode('delay', {
      delayType: 'dynamic',
      delayVariable: '{{ctx.input.id}}',
      title: 'For {{ctx.input.name}}',
    });

    expect(resolveConfig(node, scope)).toMatchObject({ delayVariable: 7, title: 'For Ada', delayMinutes: 0 });
    expect(resolveConfig(node, { input: { id: 8 } })).toMatchObject({ delayVariable: 8, title: 'For ' });
  });

  test('keeps the code of a node whose title is a template', () => {
    const node = aNode('javascript', { code: 'return "{{ctx.input.id}}";', title: 'Hi {{ctx.input.name}}' });

    expect(resolveConfig(node, scope)).toMatchObject({ code: 'return "{{ctx.input.id}}";', title: 'Hi Ada' });
  });

  test('is refused, with the path, when a value does not fit', () => {
    const node = aNode('subWorkflow', { childWorkflowID: '{{ctx.input.name}}', maxDepth: '{{ctx.input.id}}' });
    const resolve = () => resolveConfig(node, scope);

    expect(resolve).toThrow(AppError);
    expect(resolve).toThrow(
      expect.objectContaining({
        code: 'VALIDATION_ERROR',
        message: 'childWorkflowID: expected an id (UUID), received "Ada"',
        details: {
          issues: [
            { path: ['childWorkflowID'], message: 'expected an id (UUID), received "Ada"', type: 'invalid_format' },
          ],
        },
      }),
    );
  });
});

describe('the part of ctx that a node adds', () => {
  const childWorkflowID = crypto.randomUUID();
  const child = aNode('subWorkflow', { childWorkflowID, mergeOutputs: true });
  const script = aNode('javascript', { code: '1', outputVariable: 'x' });

  test('is its output variable', () => {
    expect(contextPatch(script, script.config, { x: { a: 1 }, success: true })).toEqual({ x: { a: 1 } });
    expect(contextPatch(script, script.config, { x: null })).toEqual({ x: null });
  });

  test('is empty when the output lacks the value, or the kind has no such field', () => {
    const delay = aNode('delay', {});

    expect(contextPatch(script, script.config, { success: false })).toBeNull();
    expect(contextPatch(delay, delay.config, { delayedMs: 1 })).toBeNull();
    expect(contextPatch(delay, undefined, { delayedMs: 1 })).toBeNull();
  });

  test('depends on the resolved config', () => {
    expect(contextPatch(script, { outputVariable: 'y' }, { y: 1 })).toEqual({ y: 1 });
  });

  test('includes the outputs of a child when the config merges them', () => {
    const outputs = { total: 3, subResult: 'shadowed', input: 1, item: 1, index: 1, output: 1, __node_1: 1 };

    expect(contextPatch(child, child.config, { subResult: outputs })).toEqual({ total: 3, subResult: outputs });
    expect(contextPatch(child, child.config, { subResult: [1] })).toEqual({ subResult: [1] });
    expect(contextPatch(child, { ...Object(child.config), mergeOutputs: false }, { subResult: outputs })).toEqual({
      subResult: outputs,
    });
  });

  test('never has a key of the engine', () => {
    for (const name of ['input', 'item', 'index', 'output', '__proto__', 'prototype', 'constructor', '__x'])
      expect(contextPatch(script, { outputVariable: name }, Object.fromEntries([[name, 1]]))).toBeNull();
  });
});
