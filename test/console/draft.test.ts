import { expect, test } from 'vitest';
import { type Draft, draftOf, faultsOf, withConfig, withEdge } from '#ops/console/editor/draft.ts';
import { withoutSteps, withStep } from '#ops/console/editor/edits.ts';
import type { Kind } from '#ops/console/graph/kinds.ts';

const sent = draftOf({
  workflowNodes: [
    { id: 'one', type: 'javascript', data: { code: '{' } },
    { id: 'two', type: 'javascript', data: { code: '(' } },
  ],
  workflowEdges: [{ id: 'edge', source: 'one', target: 'two' }],
});
const issues = ['one', 'two'].map((id, index) => ({
  path: ['workflowNodes', index, 'data', 'code'],
  message: `a fault of ${id}`,
}));
const faulty = (now: Draft) => [...faultsOf(issues, sent, now).keys()];

test('a node that is changed has its faults no more, the others keep theirs', () => {
  const fixed = withConfig(sent, 'one', { code: '' });

  expect(faulty(sent)).toEqual(['one', 'two']);
  expect(faulty(fixed)).toEqual(['two']);
  expect(faulty(withoutSteps(sent, {}, ['one']))).toEqual(['two']);
  expect(faulty(withEdge(sent, { source: 'two', target: 'one', exit: null }))).toEqual(['one']);
});

test('a node that is only moved keeps its faults', () => {
  const moved = { ...sent, nodes: sent.nodes.map((node) => ({ ...node, position: { x: 9, y: 9 } })) };

  expect(faulty(moved)).toEqual(['one', 'two']);
});

test('a node is added the way the edges of the graph lead, and what is beyond it makes room', () => {
  const kind = { nodeType: 'log', defaultValue: {}, exits: ['output'] } as unknown as Kind;
  const between = { edge: 'edge', onward: 'output' };
  const placed = (further: object) =>
    draftOf({
      workflowNodes: [
        { id: 'one', type: 'start', position: { x: 0, y: 0 } },
        { id: 'two', type: 'end', position: further },
      ],
      workflowEdges: [{ id: 'edge', source: 'one', target: 'two' }],
    });
  const positionsAfter = (draft: Draft) =>
    withStep(draft, {}, kind, between)[0].nodes.map(({ id, position }) => [id, position?.x, position?.y]);

  expect(positionsAfter(placed({ x: 240, y: 40 }))).toEqual([
    ['one', 0, 0],
    ['log', 288, 0],
    ['two', 528, 40],
  ]);
  expect(positionsAfter(placed({ x: 20, y: 100 }))).toEqual([
    ['one', 0, 0],
    ['log', 0, 140],
    ['two', 20, 240],
  ]);
});
