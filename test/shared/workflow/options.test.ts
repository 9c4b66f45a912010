import { describe, expect, test } from 'vitest';
import { runSync } from '#shared/concurrency/cooperative.ts';
import { AppError } from '#shared/core/errors.ts';
import type { JsonObject } from '#shared/core/json.ts';
import { parseDuration } from '#shared/workflow/duration.ts';
import { compileGraph, type GraphNode } from '#shared/workflow/graph/graph.ts';
import { nodePolicy, runTimeoutMs, WorkflowOptions } from '#shared/workflow/options.ts';

function aNode(data: JsonObject, type = 'javascript'): GraphNode {
  const { nodes } = runSync(
    compileGraph(
      [
        { id: 's', type: 'start', data: {} },
        { id: 'n', type, data: type === 'javascript' ? { code: '1', ...data } : data },
      ],
      [{ id: 'e', source: 's', target: 'n' }],
    ),
  );
  const [, node] = nodes;
  if (!node) throw new Error('the graph has two nodes');
  return node;
}

describe('a duration', () => {
  test('is seconds, or a text with a unit', () => {
    const durations: [number | string, number][] = [
      [30, 30_000],
      [0.5, 500],
      ['30', 30_000],
      ['250ms', 250],
      ['30 s', 30_000],
      ['1 second', 1_000],
      ['5m', 300_000],
      ['5 Minutes', 300_000],
      ['2h', 7_200_000],
      ['1.5 hours', 5_400_000],
      [' 7 days ', 604_800_000],
      ['1 day', 86_400_000],
      ['2 weeks', 1_209_600_000],
    ];

    for (const [text, ms] of durations) expect([text, parseDuration(text)]).toEqual([text, ms]);
  });

  test('is refused with the reason otherwise', () => {
    for (const wrong of [
      '',
      'soon',
      '7 fortnights',
      '-5 s',
      '1h 30m',
      '1e3',
      'Infinity',
      0,
      -1,
      Number.NaN,
      1e12,
      '9999 weeks',
    ])
      expect(() => parseDuration(wrong)).toThrow(AppError);
    expect(() => parseDuration('soon')).toThrow(/^"soon" is not a duration: it must be seconds, or a text such as/);
  });
});

describe('workflow options', () => {
  test('may be empty', () => {
    expect(WorkflowOptions.parse({})).toEqual({ durability: 'effect', inputDefinitions: [], nodeDefaults: {} });
  });

  test('keep unknown fields', () => {
    const options = WorkflowOptions.parse({ theme: 'dark', inputDefinitions: [{ key: 'a', label: 'A' }] });

    expect(options).toMatchObject({ theme: 'dark', inputDefinitions: [{ key: 'a', label: 'A', required: false }] });
  });

  test('are checked', () => {
    const wrong: [string, unknown][] = [
      ['workflowRunTimeout', 'soon'],
      ['workflowTaskTimeout', true],
      ['humanInLoopTimeout', -1],
      ['defaultNodeTimeoutSeconds', 0],
      ['defaultRetryLimit', 11],
      ['defaultRetryDelaySeconds', 301],
      ['nodeDefaults', { javascript: { retryLimit: 'many' } }],
      ['concurrency', { key: 'a', limit: 0 }],
      ['concurrency', { key: 'a', limit: 1, onLimit: 'wait' }],
      ['concurrency', { key: '{{input.a}}', limit: 1 }],
      ['concurrency', { key: '{{ctx.input.a}}', limit: 1, scope: 'all' }],
      ['rate', { limit: 0, per: 'minute' }],
      ['rate', { limit: 1_001, per: 'minute' }],
      ['rate', { limit: 10, per: 'week' }],
      ['maxRunsAtOnce', 0],
      ['priority', 3_601],
      ['class', 'urgent'],
      ['inputDefinitions', [{ key: 'a', type: 'file' }]],
      ['inputDefinitions', [{ key: 'a' }, { key: 'a' }]],
      ['inputDefinitions', [{ key: '' }]],
    ];

    for (const [key, value] of wrong) {
      const result = WorkflowOptions.safeParse({ [key]: value });
      expect([key, value, result.error?.issues[0]?.path[0]]).toEqual([key, value, key]);
    }
    expect(WorkflowOptions.safeParse({ workflowRunTimeout: 'soon' }).error?.issues[0]?.message).toMatch(
      /^must be seconds/,
    );
  });

  test('queue runs above the concurrency limit by default', () => {
    const { concurrency } = WorkflowOptions.parse({ concurrency: { key: '{{ctx.input.id}}', limit: 2 } });

    expect(concurrency).toEqual({ key: '{{ctx.input.id}}', limit: 2, onLimit: 'queue', scope: 'workflow' });
  });

  test('give a run seven days by default', () => {
    expect(runTimeoutMs(WorkflowOptions.parse({}))).toBe(7 * 86_400_000);
    expect(runTimeoutMs(WorkflowOptions.parse({ workflowRunTimeout: '2h' }))).toBe(7_200_000);
    expect(runTimeoutMs(WorkflowOptions.parse({ workflowRunTimeout: 90 }))).toBe(90_000);
  });
});

describe('the policy of a node', () => {
  const everywhere = { defaultNodeTimeoutSeconds: 40, defaultRetryLimit: 1, defaultRetryDelaySeconds: 10 };
  const forKind = { nodeDefaults: { javascript: { timeoutSeconds: 50, retryLimit: 2, retryDelaySeconds: 20 } } };
  const own = { timeoutSeconds: 60, retryLimit: 3, retryDelaySeconds: 30, errorHandling: 'continue' };

  test("defaults to the platform's policy for its kind", () => {
    const timeoutSetBy = 'the default of javascript nodes; `timeoutSeconds` of the node changes it';
    const none = { retryLimit: 0, retryDelayMs: 5_000, errorHandling: undefined, afterFailedItems: undefined };
    const policy = { timeoutMs: 30_000, timeoutSetBy, ...none };

    expect(nodePolicy(aNode({}), WorkflowOptions.parse({}))).toEqual(policy);
    expect(nodePolicy(aNode({}, 'end'), WorkflowOptions.parse({}))).toEqual({
      ...policy,
      timeoutMs: 60_000,
      timeoutSetBy: timeoutSetBy.replace('javascript', 'end'),
    });
  });

  test("is overridden by the workflow's for all nodes", () => {
    expect(nodePolicy(aNode({}), WorkflowOptions.parse(everywhere))).toMatchObject({
      timeoutMs: 40_000,
      timeoutSetBy: '`defaultNodeTimeoutSeconds` of the workflow',
      retryLimit: 1,
      retryDelayMs: 10_000,
    });
  });

  test("is overridden by the workflow's for the kind", () => {
    const options = WorkflowOptions.parse({ ...everywhere, ...forKind });

    expect(nodePolicy(aNode({}), options)).toMatchObject({
      timeoutMs: 50_000,
      timeoutSetBy: '`nodeDefaults.javascript.timeoutSeconds` of the workflow',
      retryLimit: 2,
      retryDelayMs: 20_000,
    });
    expect(nodePolicy(aNode({}, 'delay'), options)).toMatchObject({ timeoutMs: 40_000, retryLimit: 1 });
  });

  test("is overridden by the node's", () => {
    expect(nodePolicy(aNode(own), WorkflowOptions.parse({ ...everywhere, ...forKind }))).toEqual({
      timeoutMs: 60_000,
      timeoutSetBy: '`timeoutSeconds` of the node',
      retryLimit: 3,
      retryDelayMs: 30_000,
      errorHandling: 'continue',
      afterFailedItems: 'continue',
    });
  });

  test('retries a node that goes on after its first failure only if the node itself says so', () => {
    const options = WorkflowOptions.parse({ ...everywhere, ...forKind });

    for (const errorHandling of ['continue', 'continue_default', 'skip_item']) {
      expect(nodePolicy(aNode({ errorHandling }), options).retryLimit).toBe(0);
      expect(nodePolicy(aNode({ errorHandling, retryLimit: 4 }), options).retryLimit).toBe(4);
    }
    expect(nodePolicy(aNode({ errorHandling: 'retry_then_continue' }), options).retryLimit).toBe(2);
  });

  test('may be zero', () => {
    const options = WorkflowOptions.parse({ ...everywhere, ...forKind });

    expect(nodePolicy(aNode({ retryLimit: 0, retryDelaySeconds: 0 }), options)).toMatchObject({
      retryLimit: 0,
      retryDelayMs: 0,
    });
  });

  test('merges its sources field by field', () => {
    const options = WorkflowOptions.parse({ ...everywhere, nodeDefaults: { javascript: { retryLimit: 2 } } });

    expect(nodePolicy(aNode({ retryDelaySeconds: 1 }), options)).toMatchObject({
      timeoutMs: 40_000,
      retryLimit: 2,
      retryDelayMs: 1_000,
    });
  });
});

test('notes on the canvas are kept with all that an editor stores there; one without a position is refused', () => {
  const note = { id: 'note-1', text: 'Read this', position: { x: 1, y: 2.5 }, colour: 'red' };
  const canvas = { zoom: 2, notes: [note] };
  expect(WorkflowOptions.parse({ canvas }).canvas).toEqual(canvas);
  const { error } = WorkflowOptions.safeParse({ canvas: { notes: [{ ...note, position: 'left' }] } });
  expect(error?.issues.map(({ path }) => path.join('.'))).toEqual(['canvas.notes.0.position']);
});
