import { expect, test } from 'vitest';
import { withChunk } from '#ops/console/assistant/parts.ts';
import { differences, newDraft, type WorkflowChange, withChange } from '#ops/console/assistant/proposed.ts';
import { bounded } from '#ops/console/assistant/where.ts';
import { type Draft, draftOf } from '#ops/console/editor/draft.ts';
import { markedEdges } from '#ops/console/editor/marks.ts';
import { proposedGraph } from '#ops/console/editor/proposed-graph.ts';
import { draft as drawn, kinds } from './drafts.ts';

const none = { workflowID: null, summary: '', steps: [], removedSteps: [], connections: [], removedConnections: [] };
const change = (given: Partial<WorkflowChange>): WorkflowChange => ({ ...none, ...given });

const node = (id: string, type: string, data: object = {}) => ({ id, type, data });
const saved = {
  workflowNodes: [
    { ...node('start', 'start'), position: { x: 0, y: 0 } },
    {
      ...node('call', 'http', { title: 'Call', url: '/a', headers: { authorization: 'key', accept: '*' } }),
      position: { x: 0, y: 200 },
    },
    { ...node('end', 'end'), position: { x: 0, y: 400 } },
  ],
  workflowEdges: [
    { id: 'one', source: 'start', target: 'call' },
    { id: 'two', source: 'call', target: 'end', sourceHandle: 'success' },
  ],
  workflowOptions: { timeoutSeconds: 60, tags: ['a'] },
};
const draft = draftOf(saved);

test('a proposed change keeps all that it does not name, and what the model could not see', () => {
  const next = withChange(
    draft,
    kinds,
    change({
      steps: [
        {
          id: 'call',
          type: 'http',
          data: { title: 'Call', url: '/b', headers: { authorization: '[REDACTED]', accept: '*' } },
        },
        { id: 'log', type: 'log', data: { title: 'Note', message: 'x' } },
      ],
      connections: [
        { source: 'call', target: 'log' },
        { source: 'log', target: 'end' },
      ],
      // The usual exit by its other name.
      removedConnections: [{ source: 'call', target: 'end' }],
      options: { timeoutSeconds: null, maxRuns: 2 },
    }),
  );

  expect(next.nodes.map(({ id }) => id)).toEqual(['start', 'call', 'end', 'log']);
  expect(next.nodes[1]?.data).toEqual({ title: 'Call', url: '/b', headers: { authorization: 'key', accept: '*' } });
  expect(next.nodes.map(({ position }) => position !== undefined)).toEqual([true, true, true, true]);
  expect(next.nodes[1]?.position).toEqual({ x: 0, y: 200 });
  expect(next.edges.map(({ source, target }) => `${source}>${target}`)).toEqual(['start>call', 'call>log', 'log>end']);
  expect(new Set(next.edges.map(({ id }) => id)).size).toBe(3);
  expect(next.options).toEqual({ tags: ['a'], maxRuns: 2 });
  expect(
    differences(draft, next, kinds).map(({ what, name, verb, fields }) => [what, name, verb, fields.length]),
  ).toEqual([
    ['Step', 'Call, HTTP request', 'changed', 1],
    ['Step', 'Note, Log', 'added', 1],
    ['Connection', 'Call → Note', 'added', 0],
    ['Connection', 'Note → end', 'added', 0],
    ['Connection', 'Call → end by “success”', 'removed', 0],
    ['Options', 'of the workflow', 'changed', 2],
  ]);
});

test('a step goes with its connections, a connection that exists already is no change, and a change that is applied leaves nothing', () => {
  const removed = withChange(
    draft,
    kinds,
    change({ removedSteps: ['call'], connections: [{ source: 'start', target: 'end' }] }),
  );
  const again = withChange(draft, kinds, change({ connections: [{ source: 'call', target: 'end' }] }));

  expect(removed.nodes.map(({ id }) => id)).toEqual(['start', 'end']);
  expect(removed.edges.map(({ source, target }) => `${source}>${target}`)).toEqual(['start>end']);
  expect(differences(draft, again, kinds)).toEqual([]);
  expect(differences(removed, removed, kinds)).toEqual([]);
  const begun = { id: 'begin', type: 'start', data: {} };
  expect([[], [begun]].map((steps) => withChange(newDraft({ steps }), kinds, change({ steps })).nodes.length)).toEqual([
    1, 1,
  ]);
});

test('of lists as long as before, the one field that differs is told; of others, the whole list', () => {
  const branch = (limit: number) => ({
    id: 'yes',
    conditions: [{ leftValue: 'a', operator: 'is', rightValue: limit }],
  });
  const withBranches = (...branches: unknown[]) =>
    draftOf({ ...saved, workflowNodes: [node('check', 'condition', { title: 'Check', branches })] });
  const fieldsOf = (after: Draft) =>
    differences(withBranches(branch(10)), after, kinds).flatMap(({ fields }) => fields);

  expect(fieldsOf(withBranches(branch(15)))).toMatchObject([{ from: 10, to: 15 }]);
  expect(fieldsOf(withBranches(branch(10), branch(15)))).toMatchObject([
    { from: [branch(10)], to: [branch(10), branch(15)] },
  ]);
});

test('what is open is sent as far as there is room, the first first', () => {
  const sent = bounded({ page: '/a', draft: { text: 'x'.repeat(100) }, options: { a: 1 } }, 60);

  expect(sent).toEqual({ page: '/a', options: { a: 1 }, tooLargeToSend: ['draft'] });
});

test('an answer is put together from its pieces; one that is begun again loses what was said of the step', () => {
  const pieces = [
    { type: 'start', messageId: 'm' },
    { type: 'start-step' },
    { type: 'text-start', id: '1' },
    { type: 'text-delta', id: '1', delta: 'Let me ' },
    { type: 'text-delta', id: '1', delta: 'look.' },
    { type: 'tool-input-available', toolCallId: 'c', toolName: 'get_query', input: { a: 1 } },
    { type: 'tool-output-available', toolCallId: 'c', output: { b: 2 } },
    { type: 'start-step' },
    { type: 'text-start', id: '2' },
    { type: 'text-delta', id: '2', delta: 'Lost' },
    { type: 'reset-step' },
    { type: 'text-start', id: '3' },
    { type: 'text-delta', id: '3', delta: 'Found.' },
  ];

  expect(pieces.reduce(withChunk, [])).toEqual([
    {
      ...{ id: 'm', role: 'assistant' },
      parts: [
        { type: 'text', text: 'Let me look.' },
        {
          type: 'dynamic-tool',
          toolCallId: 'c',
          toolName: 'get_query',
          input: { a: 1 },
          state: 'output-available',
          output: { b: 2 },
        },
        { type: 'step-start' },
        { type: 'text', text: 'Found.' },
      ],
    },
  ]);
});

test('the graph of a proposal has what is added, changed and removed, and nothing of it is lost', () => {
  const before = drawn({ start: 'start', old: 'http', kept: 'log', end: 'end' }, ['start>old', 'old>kept', 'kept>end']);
  const [way] = before.edges;
  const nodes = before.nodes
    .filter(({ id }) => id !== 'old')
    .map((node) => (node.id === 'kept' ? { ...node, data: { ...node.data, message: 'new' } } : { ...node }));
  const added = { id: 'wait', type: 'delay', data: {}, position: undefined, more: {} };
  const edge = { id: 'new', source: 'start', target: 'wait', sourceHandle: null, more: {} };
  const next = { ...before, nodes: [...nodes, added], edges: [...before.edges.slice(1), edge] };

  const { graph, marks } = proposedGraph(before, next);

  expect(graph.nodes.map(({ id }) => id).toSorted()).toEqual(['end', 'kept', 'old', 'start', 'wait']);
  expect(Object.fromEntries(marks.steps)).toEqual({ old: 'removed', kept: 'changed', wait: 'added' });
  expect(Object.fromEntries(marks.edges)).toEqual({ [way?.id ?? '']: 'removed', new: 'added' });
  const ways = markedEdges([{ id: 'new', source: 'start', target: 'wait' }], marks);
  expect(ways).toMatchObject([{ style: { stroke: 'var(--ok)' } }]);
});
