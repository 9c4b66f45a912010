/** New steps begin with a name of their result, and with values that are there. */
import { describe, expect, test } from 'vitest';
import type { NodeSteps } from '#ops/console/client/run-steps.ts';
import { withCopies } from '#ops/console/editor/clipboard.ts';
import type { Draft } from '#ops/console/editor/draft.ts';
import { withStep } from '#ops/console/editor/edits.ts';
import { withFirstValues } from '#ops/console/editor/first-values.ts';
import { type Known, valuesAt } from '#ops/console/editor/values-at-step.ts';
import type { Kind } from '#ops/console/graph/kinds.ts';
import { draft, kinds } from './drafts.ts';

const dataOf = ({ nodes }: Draft, id: string) => nodes.find((node) => node.id === id)?.data;
const add = (given: Draft, kind: string, edge: string, tested: ReadonlyMap<string, NodeSteps> = new Map()) => {
  const [added, id] = withStep(given, kinds, kinds[kind] as Kind, { edge, onward: 'completed' });
  return dataOf(withFirstValues(added, kinds, id, tested), id);
};
const testedWith = (outputs: Record<string, object>) =>
  new Map(
    Object.entries(outputs).map(([nodeID, output]) => {
      const step = { frame: [], last: { output } };
      return [nodeID, { nodeID, steps: [step], shown: step } as unknown as NodeSteps];
    }),
  );

describe('the result of a step', () => {
  const given = draft({ start: 'start', list: { type: 'dataQuery', outputVariable: undefined }, end: 'end' }, [
    'start>list',
    'list>end',
  ]);

  test('has the usual name of its kind where its config names none, and is offered by it', () => {
    const known: Known = {
      ...{ definitions: [], tested: testedWith({ list: { queryResult: [{ id: 1 }] } }), read: new Map() },
      ...{ variables: [], hasMoreVariables: false },
    };
    const named = valuesAt('end', given, kinds, known).groups.flatMap(({ values }) =>
      values.map(({ path, sample }) => [path.join('.'), sample]),
    );
    expect(named).toContainEqual(['ctx.queryResult', [{ id: 1 }]]);
  });

  test('has a name that no other step has, also where that is not written down', () => {
    expect(add(given, 'dataQuery', 'e1')).toMatchObject({ outputVariable: 'queryResult2' });
    const [copied] = withCopies(given, kinds, given);
    expect(dataOf(copied, 'dataQuery')).toMatchObject({ outputVariable: 'queryResult2' });
  });
});

describe('a loop that is added', () => {
  const given = draft({ start: 'start', rows: 'dataQuery', one: 'http', end: 'end' }, [
    'start>rows',
    'rows>one',
    'one>end',
  ]);

  test('goes through the nearest list of the last test, else the nearest result that is not known', () => {
    const tested = testedWith({ rows: { queryResult: [1, 2] }, one: { httpResponse: { status: 200 } } });
    expect(add(given, 'loop', 'e2', tested)).toMatchObject({ sourceVariable: '{{ctx.queryResult}}' });
    expect(add(given, 'map', 'e2')).toMatchObject({ sourceVariable: '{{ctx.httpResponse}}' });
    expect(add(given, 'loop', 'e0')).toMatchObject({ sourceVariable: '' });
  });

  test('names an input where it is declared, and no other step an input that is not', () => {
    const declaring: Draft = { ...given, options: { inputDefinitions: [{ key: 'items', type: 'array' }] } };
    expect(add(declaring, 'loop', 'e0')).toMatchObject({ sourceVariable: '{{ctx.input.items}}' });
    expect(add(given, 'condition', 'e1')).toMatchObject({
      branches: [{ id: 'yes', conditions: [{ operator: 'equals', leftValue: '', rightValue: '' }] }],
    });
  });
});
