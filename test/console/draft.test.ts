import { expect, test } from 'vitest';
import { type Draft, draftOf, faultsOf, withConfig, withEdge, withoutNode } from '#ops/console/editor/draft.ts';

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
  expect(faulty(withoutNode(sent, 'one'))).toEqual(['two']);
  expect(faulty(withEdge(sent, { source: 'two', target: 'one', exit: null }))).toEqual(['one']);
});

test('a node that is only moved keeps its faults', () => {
  const moved = { ...sent, nodes: sent.nodes.map((node) => ({ ...node, position: { x: 9, y: 9 } })) };

  expect(faulty(moved)).toEqual(['one', 'two']);
});
