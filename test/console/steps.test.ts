/** The pure parts of the page of a run: steps out of events, edges that were taken, and the scale of its timeline. */
import { describe, expect, test } from 'vitest';
import type { TimelineEvent } from '#ops/console/client/types.ts';
import { isTakenBy } from '#ops/console/run/graph-of.ts';
import { scaleOf } from '#ops/console/run/scale.ts';
import { mergeTimeline, nodesOf, type Span, spansOf, stepKey } from '#ops/console/run/steps.ts';
import { nodes } from '#shared/nodes/index.ts';

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

  test('a step outside of loops is named by its node alone', () => {
    expect(stepKey(event({}))).toBe('node');
  });
});

describe('an edge without an exit', () => {
  const usual = nodes.filter(({ usualExit }) => typeof usualExit === 'string');

  test.each(usual)('is taken when $kind is left by its usual exit', ({ usualExit }) => {
    expect(isTakenBy({ exit: undefined }, String(usualExit))).toBe(true);
    expect(isTakenBy({ exit: 'output' }, String(usualExit))).toBe(true);
    expect(isTakenBy({ exit: 'error' }, String(usualExit))).toBe(false);
  });

  test.each(['error', 'rejected', 'expired', 'default'])('is not taken when a node is left by %s', (exit) => {
    expect(isTakenBy({ exit: undefined }, exit)).toBe(false);
    expect(isTakenBy({ exit }, exit)).toBe(true);
  });
});

describe('the scale', () => {
  test('keeps the shares of times in which something ran', () => {
    const { place, cuts } = scaleOf([span(0, 100), span(100, 400)]);

    expect([0, 100, 250, 400].map(place)).toEqual([0, 0.25, 0.625, 1]);
    expect(cuts).toEqual([]);
  });

  test('cuts a day of waiting, so that both ends of it can be seen', () => {
    const day = 86_400_000;
    const { place, cuts } = scaleOf([span(0, 1_000), span(1_000, day, 'SUSPENDED'), span(day, day + 1_000)]);

    expect(place(1_000)).toBeGreaterThan(0.4);
    expect(place(day) - place(1_000)).toBeLessThan(0.1);
    expect(place(day + 1_000)).toBe(1);
    expect(cuts).toEqual([{ place: expect.closeTo(0.5, 1), ms: day - 1_000 }]);
  });

  test('has a place for a run of no length', () => {
    expect(scaleOf([span(5, 5)]).place(5)).toBe(0);
    expect(scaleOf([]).place(5)).toBe(0);
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
