/** The parts of a graph that tests of single steps run, and their results in words. */
import { describe, expect, test } from 'vitest';
import type { Run, TimelineEvent } from '#ops/console/client/types.ts';
import { type Draft, partBody } from '#ops/console/editor/draft.ts';
import { briefOf } from '#ops/console/graph/result-line.ts';
import { outdatedSteps } from '#ops/console/testing/outdated.ts';
import { partAlone, partUpTo, type TestedPart } from '#ops/console/testing/part-of-graph.ts';
import { type Pin, pinOf, pinsOf, withPin } from '#ops/console/testing/pins.ts';
import { noResults, omittedOutputs, resultsAfter } from '#ops/console/testing/results.ts';
import { runSync } from '#shared/concurrency/cooperative.ts';
import { checkGraph } from '#shared/workflow/graph/graph.ts';
import { draft, kinds } from './drafts.ts';

/** A branch, a loop behind it with a branch in its body, and a side that has nothing to do with either. */
const given = draft(
  {
    ...{ start: 'start', decide: 'condition', fetch: 'http', plain: 'log', each: 'loop' },
    ...{ check: 'condition', save: 'http', skip: 'log', mail: 'http', done: 'end' },
  },
  [
    ...['start>decide', 'decide.yes>fetch', 'decide.default>plain', 'fetch>each', 'plain>each', 'start>mail'],
    ...['each.loop>check', 'check.yes>save', 'check.default>skip', 'save>each', 'skip>each', 'each.completed>done'],
  ],
);

const linesOf = ({ edges }: Pick<TestedPart, 'edges'>) =>
  edges.map(({ source, target, sourceHandle }) => `${source}${sourceHandle ? `.${sourceHandle}` : ''}>${target}`);

function faultsOf(part: Pick<TestedPart, 'nodes' | 'edges'>): string[] {
  const { workflowNodes, workflowEdges } = partBody(part);
  const { issues } = runSync(checkGraph(workflowNodes as never, workflowEdges as never));
  return issues.map(({ path, message }) => `${path.join('.')}: ${message}`);
}

const known = (pins: Record<string, Pin>) => (id: string) => pins[id];
const result = (exit?: string): Pin => ({ output: { n: 1 }, exit });

describe('all that leads to a step', () => {
  test('is run, and nothing beside it: what leads elsewhere ends in a disabled step', () => {
    const part = partUpTo(given, kinds, 'fetch');
    expect(part?.nodes.map(({ id }) => id)).toEqual([
      'start',
      'decide',
      'fetch',
      'test-end-0',
      'test-end-1',
      'test-end-2',
    ]);
    expect(part && linesOf(part)).toEqual([
      ...['start>decide', 'decide.yes>fetch', 'decide.default>test-end-0', 'fetch>test-end-1', 'start>test-end-2'],
    ]);
    expect(part?.nodes.filter(({ id }) => id.startsWith('test-end')).every(({ data }) => data.isDisabled)).toBe(true);
    expect(part?.stopAfter).toBe('fetch');
    expect(part && faultsOf(part)).toEqual([]);
  });

  test('of a step behind a loop has the whole body, of one in it what leads to it there', () => {
    const behind = partUpTo(given, kinds, 'done');
    expect(behind?.nodes.map(({ id }) => id)).toEqual(expect.arrayContaining(['check', 'save', 'skip']));
    const inside = partUpTo(given, kinds, 'save');
    expect(inside?.nodes.map(({ id }) => id)).not.toContain('skip');
    expect(inside?.stopAfter).toBe('save');
    for (const part of [behind, inside]) expect(part && faultsOf(part)).toEqual([]);
  });

  test('of a step in a map is run until the map ends; of one without a way to it there is nothing', () => {
    const mapped = draft({ start: 'start', all: 'map', one: 'http', lone: 'http' }, ['start>all', 'all.map>one']);
    expect(partUpTo(mapped, kinds, 'one')?.stopAfter).toBe('all');
    expect(partUpTo(mapped, kinds, 'lone')).toBeUndefined();
  });
});

describe('a step alone', () => {
  test('is reached by the results of the steps before it, by any way that they had taken', () => {
    const {
      part,
      given: taken,
      missing,
    } = partAlone(given, kinds, 'done', known({ decide: result('yes'), fetch: result(), each: result('completed') }));
    expect(linesOf(part)).toEqual([
      'start.output>decide',
      'decide.yes>fetch',
      'fetch.success>each',
      'each.completed>done',
    ]);
    expect(taken).toEqual(['decide', 'fetch', 'each']);
    expect(missing).toEqual([]);
    expect(faultsOf(part)).toEqual([]);
  });

  test('in a loop is run for its first item, behind the results before it in the body', () => {
    const pins = { decide: result('default'), plain: result(), check: result('default') };
    const { part, given: taken, missing } = partAlone(given, kinds, 'save', known(pins));
    expect(linesOf(part)).toEqual([
      ...['start.output>decide', 'decide.default>plain', 'plain.output>each', 'each.loop>check', 'check.default>save'],
      'save>test-end-0',
    ]);
    expect([taken, missing]).toEqual([['decide', 'plain', 'check'], []]);
    expect(faultsOf(part)).toEqual([]);
  });

  test('lacks the nearest steps without a result, if no way to it has all', () => {
    const missing = (id: string, pins: Record<string, Pin>) => partAlone(given, kinds, id, known(pins)).missing;
    expect(missing('fetch', {})).toEqual(['decide']);
    expect(missing('each', { decide: result('yes') })).toEqual(['fetch', 'plain']);
    expect(missing('each', { decide: result('yes'), fetch: result() })).toEqual([]);
    expect(missing('decide', {})).toEqual([]);
  });

  test('that repeats others is run with them; a disabled step before it is passed over', () => {
    const disabled: Draft = {
      ...given,
      nodes: given.nodes.map((node) =>
        node.id === 'fetch' ? { ...node, data: { ...node.data, isDisabled: true } } : node,
      ),
    };
    const { part, given: taken, missing } = partAlone(disabled, kinds, 'each', known({ decide: result('yes') }));
    expect(part.nodes.map(({ id }) => id)).toEqual(['start', 'decide', 'each', 'check', 'save', 'skip', 'test-end-0']);
    expect([taken, missing]).toEqual([['decide'], []]);
    expect(faultsOf(part)).toEqual([]);
  });

  test('without ways to it is run behind the start', () => {
    const { part, missing } = partAlone(draft({ start: 'start', lone: 'http' }, []), kinds, 'lone', known({}));
    expect([linesOf(part), missing]).toEqual([['start.output>lone'], []]);
    expect(faultsOf(part)).toEqual([]);
  });
});

test('a test of a part leaves other results as they are, and those that were given to it; one of all replaces them', () => {
  const event = (nodeID: string, isPinned = false) => ({
    ...{ nodeID, frame: [], status: 'SUCCESS', exit: null, output: {}, seq: 1, attempt: 1 },
    ...(isPinned && { isPinned }),
  });
  const run = (instanceID: string, ...timeline: object[]) => ({ instanceID, timeline }) as never;
  const ofRuns = (results: ReturnType<typeof resultsAfter>) =>
    [...results].map(
      ([
        id,
        {
          run: { instanceID },
        },
      ]) => `${id} of ${instanceID}`,
    );
  const whole = resultsAfter(noResults, run('1', event('a'), event('b'), event('c')), { isPartial: false });
  const ofPart = { isPartial: true, given: new Set(['a']) };
  const part = resultsAfter(whole, run('2', event('a', true), event('b')), ofPart);
  expect(ofRuns(part)).toEqual(['a of 1', 'b of 2', 'c of 1']);
  expect(ofRuns(resultsAfter(part, run('3', event('a', true)), { isPartial: false }))).toEqual(['a of 3']);
  // The events of a run come one after the other: a step begins before the run says that its result was given.
  const begun = resultsAfter(whole, run('2', { ...event('a'), status: 'RUNNING' }), ofPart);
  expect(ofRuns(resultsAfter(begun, run('2', event('a', true), event('b')), ofPart))).toEqual(ofRuns(part));
});

test('a pinned result is saved with its step, and taken away again', () => {
  const pinned = withPin(given, 'fetch', { output: { rows: [] }, exit: 'success' });
  expect(partBody(pinned).workflowNodes.find(({ id }) => id === 'fetch')).toMatchObject({
    pinned: { output: { rows: [] }, exit: 'success' },
  });
  expect(Object.keys(pinsOf(pinned.nodes))).toEqual(['fetch']);
  expect(withPin(pinned, 'fetch', undefined).nodes.map(pinOf).filter(Boolean)).toEqual([]);
});

test.each([
  [{ answer: [{ id: 1 }, { id: 2 }] }, '2 rows'],
  [{ answer: [1] }, '1 item'],
  [{ answer: 42 }, '42'],
  [{ answer: 'a long text that does not fit' }, '“a long text that …'],
  [{ answer: null }, 'null'],
  [{ answer: { rows: [{}], rowCount: 1 } }, '1 row'],
  [{ answer: { a: 1, b: 2 } }, '2 fields'],
  [{ answer: { total: 5 } }, 'total: 5'],
  [{ answer: {}, status: 201 }, 'status 201'],
  [{ matched: 'yes', label: 'Large' }, 'Large'],
  [{ answer: { approved: false, comment: '' } }, 'rejected'],
  [{ started: true }, ''],
])('%j is said as “%s”', (output, words) => {
  expect(briefOf({ output }, 'answer')).toBe(words);
});

describe('a result is outdated', () => {
  const event = (nodeID: string, output: object) =>
    ({ nodeID, frame: [], status: 'SUCCESS', seq: 1, attempt: 1, exit: 'success', output }) as unknown as TimelineEvent;
  const run = {
    ...{ instanceID: '1', status: 'COMPLETED' },
    timeline: ['fetch', 'each', 'done', 'mail'].map((id) => event(id, { id })),
  } as unknown as Run;
  const results = resultsAfter(noResults, run, { isPartial: false, tested: given });
  const outdatedAfter = (change: (graph: Draft) => Draft) => [...outdatedSteps(results, change(given))].sort();
  const withData = (id: string, data: object) => (graph: Draft) => ({
    ...graph,
    nodes: graph.nodes.map((node) => (node.id === id ? { ...node, data: { ...node.data, ...data } } : node)),
  });

  test('of a step that was changed, and of all behind it, but not beside it; its title and its place do not count', () => {
    expect(outdatedAfter((graph) => graph)).toEqual([]);
    expect(outdatedAfter(withData('fetch', { url: 'https://other.example' }))).toEqual(['done', 'each', 'fetch']);
    expect(outdatedAfter(withData('mail', { method: 'POST' }))).toEqual(['mail']);
    expect(outdatedAfter(withData('fetch', { title: 'Called otherwise', description: 'For readers' }))).toEqual([]);
    const moved = (graph: Draft) => ({
      ...graph,
      nodes: graph.nodes.map((node) => ({ ...node, position: { x: 1, y: 2 } })),
    });
    expect(outdatedAfter(moved)).toEqual([]);
  });

  test('of the steps behind a way that was drawn or taken away', () => {
    const without = (graph: Draft) => ({ ...graph, edges: graph.edges.filter(({ source }) => source !== 'plain') });
    expect(outdatedAfter(without)).toEqual(['done', 'each']);
  });

  test('when another result is pinned, not when its own is', () => {
    const pinned = (output: Record<string, unknown>) => (graph: Draft) =>
      withPin(graph, 'fetch', { output, exit: 'success' });
    expect(outdatedAfter(pinned({ id: 'fetch' }))).toEqual([]);
    expect(outdatedAfter(pinned({ id: 'other' }))).toEqual(['done', 'each', 'fetch']);
  });

  test('never of a test of an earlier visit, whose graph is not known', () => {
    const old = resultsAfter(noResults, run, { isPartial: false });
    expect([...outdatedSteps(old, withData('fetch', { url: 'x' })(given))]).toEqual([]);
  });
});

test('a loop that a test has left at the step that it was to reach is no cancelled one', () => {
  const timeline = [{ nodeID: 'each', frame: [], status: 'CANCELLED', seq: 1, attempt: 1, exit: null }];
  const run = (status: string) => ({ instanceID: '1', status, timeline }) as unknown as Run;
  const isCut = (status: string, isPartial: boolean) =>
    resultsAfter(noResults, run(status), { isPartial }).get('each')?.isCut;
  expect(isCut('COMPLETED', true)).toBe(true);
  expect(isCut('CANCELLED', true)).toBe(false);
  expect(isCut('COMPLETED', false)).toBe(false);
});

test('a large output is read from the run that has it, also after a later test of another step', () => {
  const event = (nodeID: string, more: object) => ({
    ...{ nodeID, frame: [], status: 'SUCCESS', exit: null, seq: 3, attempt: 1, output: null },
    ...more,
  });
  const run = (instanceID: string, ...timeline: object[]) => ({ instanceID, timeline }) as never;
  const whole = run('1', event('fetch', { outputOmitted: true }), event('mail', {}));
  const later = run(
    '2',
    event('fetch', { outputOmitted: true, isPinned: true }),
    event('mail', { outputOmitted: true }),
  );
  const first = resultsAfter(noResults, whole, { isPartial: false });
  const results = resultsAfter(first, later, { isPartial: true, given: new Set(['fetch']) });
  const found = omittedOutputs(results, ['fetch', 'mail', 'start']);
  expect(found.map(({ instanceID, event: { nodeID } }) => `${nodeID} of ${instanceID}`)).toEqual([
    'fetch of 1',
    'mail of 2',
  ]);
});
