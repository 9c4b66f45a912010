/** The pure parts of the page of a run: steps out of events, edges that were taken, and the scale of its timeline. */
import { describe, expect, test } from 'vitest';
import {
  failedItemsOf,
  mergeTimeline,
  nodesOf,
  type Span,
  type Step,
  spansOf,
  stepKey,
} from '#ops/console/client/run-steps.ts';
import type { RunStatus, TimelineEvent } from '#ops/console/client/types.ts';
import { leadsBack, pathAround } from '#ops/console/graph/lay-out.ts';
import { doneAgain } from '#ops/console/run/done-again.ts';
import { graphOf } from '#ops/console/run/graph-of.ts';
import { scaleOf } from '#ops/console/run/scale.ts';
import { type Exits, takenEdges } from '#ops/console/run/taken.ts';
import type { NodeDefinition } from '#shared/workflow/nodes/define-node.ts';
import { type AnyNode, nodes } from '#shared/workflow/nodes/index.ts';

describe('steps', () => {
  test('a node has one for each iteration, and a failed one is looked at first', () => {
    const [loop] = nodesOf([
      event({ seq: 1, status: 'RUNNING', frame: at(0) }),
      event({ seq: 2, status: 'FAILED', frame: at(0) }),
      event({ seq: 3, status: 'RUNNING', frame: at(1) }),
      event({ seq: 4, status: 'SUCCESS', frame: at(1) }),
    ]);

    expect(loop?.steps.map(({ key, status }) => [key, status])).toEqual([
      ['node@0', 'FAILED'],
      ['node@1', 'SUCCESS'],
    ]);
    expect(loop).toMatchObject({ failed: 1, running: 0, shown: { key: 'node@0' } });
  });

  test('events that come twice count once, and late ones find their place', () => {
    const first = event({ seq: 2, status: 'RUNNING' });
    const before = event({ seq: 1, nodeID: 'start' });
    const sameChange = event({ seq: 2, nodeID: 'start', status: 'SUCCESS' });

    const merged = mergeTimeline([first], [first, sameChange, before]);

    expect(merged.map(({ seq, nodeID }) => [seq, nodeID])).toEqual([
      [1, 'start'],
      [2, 'node'],
      [2, 'start'],
    ]);
    expect(mergeTimeline(merged, [first, before])).toBe(merged);
  });

  test('attempts and waits are spans, and the last one goes on until now', () => {
    const [node] = nodesOf([
      event({ seq: 1, status: 'RUNNING', ms: 0 }),
      event({ seq: 2, status: 'FAILED', ms: 100 }),
      event({ seq: 3, status: 'RUNNING', ms: 400, attempt: 2 }),
      event({ seq: 4, status: 'SUSPENDED', ms: 500, attempt: 2 }),
    ]);
    if (!node) throw new Error('There is no node');

    expect(spansOf(node.shown, 900).map(({ kind, from, to, attempt }) => [kind, from, to, attempt])).toEqual([
      ['FAILED', 0, 100, 1],
      ['RUNNING', 400, 500, 2],
      ['SUSPENDED', 500, 900, 2],
    ]);
  });

  test('a step that was cut off by the end of its run was not cancelled by a person', () => {
    const events = [event({ seq: 1, status: 'RUNNING', ms: 0 }), event({ seq: 2, status: 'CANCELLED', ms: 100 })];
    const stateIn = (run: RunStatus) => nodesOf(events, run)[0]?.shown;

    expect(stateIn('CANCELLED')?.status).toBe('CANCELLED');
    expect(stateIn('FAILED')?.status).toBe('UNFINISHED');
    expect(stateIn('COMPLETED')?.status).toBe('UNFINISHED');
    expect(spansOf(stateIn('COMPLETED') as Step, 900).map(({ kind }) => kind)).toEqual(['UNFINISHED']);
  });

  test('a re-run that executes a loop does its items again, and asks again what was answered', () => {
    const nodes = [
      ...[
        { id: 'each', type: 'loop' },
        { id: 'ask', type: 'approval' },
        { id: 'later', type: 'approval' },
      ],
      { id: 'end', type: 'end' },
    ].map((node) => ({ ...node, data: {} }));
    const graph = graphOf({ workflowNodes: nodes, workflowEdges: [] } as never);
    const frame = [{ nodeID: 'each', iteration: 0 }];
    const timeline = [
      event({ seq: 1, nodeID: 'each', status: 'RUNNING' }),
      event({ seq: 2, nodeID: 'ask', frame, status: 'SUCCESS' }),
      event({ seq: 3, nodeID: 'later', status: 'SUSPENDED' }),
    ];
    const executed = ['each', 'ask', 'later', 'end'];

    const run = { timeline, status: 'FAILED' } as const;
    expect(doneAgain(run, executed, graph)).toEqual({ repeating: ['each'], items: 1, answered: ['ask'] });
    expect(doneAgain(run, ['later', 'end'], graph)).toEqual({ repeating: [], items: 0, answered: [] });
    const maps = [{ nodeID: 'each', done: 3 }] as never;
    expect(doneAgain({ timeline: [], status: 'FAILED', maps }, executed, graph)).toMatchObject({
      repeating: ['each'],
      items: 3,
    });
  });

  test('failed items of maps are counted by node, and nodes without any are left out', () => {
    const maps = [
      { nodeID: 'in a loop', failed: 0, total: 4 },
      { nodeID: 'in a loop', failed: 3, total: 6 },
      { nodeID: 'fine', failed: 0, total: 7 },
    ];

    expect([...failedItemsOf(maps)]).toEqual([['in a loop', { failed: 3, total: 10 }]]);
    expect(failedItemsOf(undefined).size).toBe(0);
  });

  test('a step outside of loops is named by its node alone', () => {
    expect(stepKey(event({}))).toBe('node');
  });
});

test('a title has what its templates name of the input, and no template', () => {
  const titleFor = (title: string) => {
    const node = { id: 'ask', type: 'approval', data: { title } };
    const graph = { workflowNodes: [node], workflowEdges: [] } as unknown as Parameters<typeof graphOf>[0];
    return graphOf(graph, { order: { id: 'A-1', total: 9 }, long: 'x'.repeat(99), '': 1 }).nodes[0]?.title;
  };

  expect(titleFor('Order {{ctx.input.order.id}} over {{ ctx.input.order.total }}')).toBe('Order A-1 over 9');
  expect(titleFor('{{ctx.input.long}}')).toBe('x'.repeat(60));
  for (const template of ['ctx.found.id', 'ctx.input.order', 'ctx.input.none.id', 'ctx.input.toString', 'ctx.input'])
    expect(titleFor(`Of {{${template}}}`)).toBe('Of …');
  expect(titleFor('')).toBe('ask');
});

describe('an edge', () => {
  const served = (kind: AnyNode): Exits => {
    const { body = null, forks = false, exitAliases = {}, usualExit } = kind as NodeDefinition;
    return { usualExit: typeof usualExit === 'string' ? usualExit : null, bodyExit: body, forks, exitAliases };
  };
  const kinds = Object.fromEntries(nodes.map((kind) => [kind.kind, served(kind)]));
  const taken = (edges: string[], left: TimelineEvent[], maps: string[] = []) => {
    const ids = new Set(edges.flatMap((edge) => edge.split(/[>:]/).slice(0, 2)));
    const graph = graphOf({
      workflowNodes: [...ids].map((id) => ({ id, type: id.replace(/\d/, ''), data: {} })),
      workflowEdges: edges.map((edge) => {
        const [source, target, sourceHandle] = edge.split(/[>:]/);
        return { id: edge, source, target, sourceHandle };
      }),
    } as unknown as Parameters<typeof graphOf>[0]);
    const byID = new Map(nodesOf(left).map((one) => [one.nodeID, one]));
    return [...takenEdges({ graph, nodes: byID, kinds, maps: new Set(maps) })];
  };
  const left = (nodeID: string, exit: string | null, more: Partial<TimelineEvent> = {}) =>
    event({ nodeID, exit, status: 'SUCCESS', ...more });
  /** Each node has two ways in, so that it tells nothing of either that it has begun. */
  const joined = (edge: string) => [edge, `set>${edge.split(/[>:]/)[1]}`];

  test.each(nodes.filter(({ usualExit }) => typeof usualExit === 'string'))(
    'without an exit is taken when $kind is left by its usual exit',
    ({ kind, usualExit }) => {
      const end = left('end2', null);
      for (const edge of [`${kind}2>end2`, `${kind}2>end2:output`]) {
        expect(taken(joined(edge), [left(`${kind}2`, String(usualExit)), end])).toEqual([edge]);
        expect(taken(joined(edge), [left(`${kind}2`, 'error'), end])).toEqual([]);
      }
    },
  );

  test('of a fan-out is taken by any name, but for its error', () => {
    const edges = ['fanout>join:first', 'fanout>end:error', 'fanout>join:second', 'set>end'];
    const events = [left('fanout', 'output'), left('join', 'output'), left('end', null), left('set', 'error')];

    expect(taken(edges, events)).toEqual(['fanout>join:first', 'fanout>join:second']);
  });

  test('into a body is taken when its first node has begun, also if that is in another run', () => {
    const edges = ['loop>set:loop', 'set>loop', 'loop>end', 'start>set', 'map>set2:map', 'start>set2'];
    const inLoop = left('set', 'output', { frame: at(0) });

    expect(taken(edges, [left('loop', 'completed'), inLoop])).toEqual(['loop>set:loop', 'set>loop']);
    expect(taken(edges, [left('map', 'completed')])).toEqual([]);
    expect(taken(edges, [left('map', 'completed')], ['map'])).toEqual(['map>set2:map']);
    // In the run of an item, the map itself has no steps.
    expect(taken(edges, [left('set2', 'output', { frame: at(0) })])).toEqual(['map>set2:map']);
  });

  test('called done or else stands for the exit that it means', () => {
    const edges = ['loop>end:done', 'condition>end:big', 'condition>end:else'];
    const end = left('end', null);

    expect(taken(edges, [left('loop', 'completed'), end])).toEqual(['loop>end:done']);
    expect(taken(edges, [left('condition', 'big'), end])).toEqual(['condition>end:big']);
    expect(taken(edges, [left('condition', 'rest'), end])).toEqual(['condition>end:else']);
    expect(taken(edges, [left('condition', 'error'), end])).toEqual([]);
  });

  test('is taken that was taken in one iteration of several', () => {
    const edges = ['condition>end:big', 'condition>end:small', 'condition>end:none'];
    const events = ['big', 'small'].map((exit, index) => left('condition', exit, { frame: at(index) }));
    const ends = ['SUCCESS', 'SKIPPED'].map((status, index) =>
      left('end', null, { frame: at(index), status: status as 'SUCCESS' }),
    );

    expect(taken(edges, [...events, ...ends])).toEqual(['condition>end:big', 'condition>end:small']);
    expect(taken(edges, [...events, ...ends.slice(1)])).toEqual([]);
  });
});

test('an edge that leads back goes around its nodes, and the others do not', () => {
  const [above, below] = [
    { targetX: 300, targetY: 0 },
    { targetX: 300, targetY: 200 },
  ];
  const source = { sourceX: 100, sourceY: 120 };

  expect(leadsBack({ ...source, ...above }, 'down')).toBe(true);
  expect(leadsBack({ ...source, ...below }, 'down')).toBe(false);
  expect(leadsBack({ ...source, ...above }, 'right')).toBe(false);
  expect(leadsBack({ sourceX: 300, sourceY: 0, targetX: 100, targetY: 0 }, 'right')).toBe(true);
  expect(pathAround({ ...source, ...above }, 'down')).toBe('M100,120 v12 H-32 V-12 H300 V0');
  expect(pathAround({ sourceX: 300, sourceY: 0, targetX: 100, targetY: 50 }, 'right')).toBe(
    'M300,0 h12 V112 H88 V50 H100',
  );
});

describe('the scale', () => {
  test('keeps the shares of times in which something ran', () => {
    const { position, cuts } = scaleOf([span(0, 100), span(100, 400)]);

    expect([0, 100, 250, 400].map(position)).toEqual([0, 0.25, 0.625, 1]);
    expect(cuts).toEqual([]);
  });

  test('cuts a day of waiting, so that both ends of it can be seen', () => {
    const day = 86_400_000;
    const { position, cuts } = scaleOf([span(0, 1_000), span(1_000, day, 'SUSPENDED'), span(day, day + 1_000)]);

    expect(position(1_000)).toBeGreaterThan(0.4);
    expect(position(day) - position(1_000)).toBeLessThan(0.1);
    expect(position(day + 1_000)).toBe(1);
    expect(cuts).toEqual([{ position: expect.closeTo(0.5, 1), ms: day - 1_000 }]);
  });

  test('has a position for a run of no length', () => {
    expect(scaleOf([span(5, 5)]).position(5)).toBe(0);
    expect(scaleOf([]).position(5)).toBe(0);
  });
});

function event({ ms = 0, ...more }: Partial<TimelineEvent> & { ms?: number }): TimelineEvent {
  return {
    ...{ seq: 1, nodeID: 'node', iteration: 0, frame: [], attempt: 1, status: 'RUNNING', exit: null },
    ...{ output: null, error: null, at: new Date(ms).toISOString() },
    ...more,
  };
}

function at(iteration: number): TimelineEvent['frame'] {
  return [{ nodeID: 'loop', iteration }];
}

function span(from: number, to: number, kind: Span['kind'] = 'RUNNING'): Span {
  return { kind, from, to, attempt: 1 };
}
