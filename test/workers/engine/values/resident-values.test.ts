import { expect, test, vi } from 'vitest';
import type { JsonObject } from '#shared/core/json.ts';
import { aClaimedRun } from '#test/support/claimed-run.ts';
import { code, graph } from '#test/support/graphs.ts';
import { LARGE_LENGTH } from '#workers/engine/state/large-outputs.ts';
import type { Run } from '#workers/engine/state/run.ts';
import type { Source } from '#workers/engine/state/source.ts';
import { createResidentValues } from '#workers/engine/values/resident-values.ts';

const shape = graph({ start: { type: 'start' }, a: code('return 1'), b: code('return 2') }, ['start>a', 'a:success>b']);

function aRun(id: string, input: JsonObject = {}, creatorID = 'c'): Run {
  const run = aClaimedRun(shape, { id, input, creatorID });
  run.state.begin();
  return run;
}

/** An output of a node, as if it were committed next. */
function give(run: Run, key: string, length: number): Source {
  const activation = run.state.find('start', '') ?? expect.fail('no frame');
  const value = 'x'.repeat(length);
  return run.state.store(activation, { outputVariable: key }, { output: { [key]: value }, length });
}

/** Characters of the empty input. */
const GIVEN = '{}'.length;

const isResident = (source: Source) => source.value !== undefined;

test('values of large outputs stay while there is room, and those that were used last the longest', () => {
  const values = createResidentValues(LARGE_LENGTH * 2.5);
  const run = aRun('r');
  const [a, b] = [give(run, 'a', LARGE_LENGTH), give(run, 'b', LARGE_LENGTH)];

  values.count(run, [{ source: a }, { source: b }]);
  expect([a, b].map(isResident)).toEqual([true, true]);
  values.retain(run, a);
  const c = give(run, 'c', LARGE_LENGTH);
  values.count(run, [{ source: c }]);

  expect([a, b, c].map(isResident)).toEqual([true, false, true]);
  expect(values.length).toBe(2 * LARGE_LENGTH + GIVEN);
});

test('what a run keeps in its ctx takes room from values that can be read again', () => {
  const values = createResidentValues(LARGE_LENGTH * 2 + GIVEN);
  const run = aRun('r');
  const large = give(run, 'large', LARGE_LENGTH);
  values.count(run, [{ source: large }]);
  const small = give(run, 'small', LARGE_LENGTH - 1);
  values.count(run, [{ source: small }]);
  expect(isResident(large)).toBe(true);

  const more = give(run, 'more', 2);
  values.count(run, [{ source: more }]);

  expect(isResident(large)).toBe(false);
  expect([run.state.residentLength, values.length]).toEqual([LARGE_LENGTH + 1 + GIVEN, LARGE_LENGTH + 1 + GIVEN]);
});

test('an output that another replaces is not counted, and a run that leaves counts nothing', () => {
  const values = createResidentValues(LARGE_LENGTH * 10);
  const run = aRun('r');
  values.count(run, [{ source: give(run, 'same', 1_000) }, { source: give(run, 'same', 10) }]);
  expect(values.length).toBe(10 + GIVEN);
  values.count(run, [{ source: give(run, 'large', LARGE_LENGTH) }]);
  expect(values.length).toBe(10 + LARGE_LENGTH + GIVEN);

  run.release('done');
  values.drop(run);

  expect(values.length).toBe(0);
});

test('a process without memory claims no run, and releases its largest, but for the last', () => {
  const values = createResidentValues(100 + 2 * GIVEN);
  const [large, small] = [aRun('large'), aRun('small')];
  give(large, 'a', 90);
  give(small, 'a', 10);
  values.count(large);
  values.count(small);
  expect([values.isFull, values.mustRelease(large)]).toEqual([false, false]);

  give(small, 'b', 5);
  values.count(small);
  expect([values.isFull, values.mustRelease(large), values.mustRelease(small)]).toEqual([true, true, false]);

  give(large, 'b', 200);
  values.count(large);
  values.drop(small);
  expect([values.isFull, values.mustRelease(large)]).toEqual([true, false]);
});

test('runs enter in order, each with room for one more output, and a run that leaves makes room', async () => {
  const values = createResidentValues(LARGE_LENGTH * 3.6);
  const [first, second, third, fourth] = [aRun('1'), aRun('2'), aRun('3'), aRun('4')];
  const order: string[] = [];
  const enter = (run: Run, length: number) =>
    values.acquire(run, length).then((isIn) => order.push(`${run.id}: ${isIn ? 'in' : 'out'}`));

  await enter(first, LARGE_LENGTH);
  const waiting = [enter(second, LARGE_LENGTH), enter(third, 0), enter(fourth, 0)];
  await Promise.resolve();
  expect([order, values.isFull]).toEqual([['1: in'], false]);
  // It waits no longer.
  third.release('fenced');
  values.drop(third);
  await waiting[1];
  expect(order).toEqual(['1: in', '3: out']);

  first.release('done');
  values.drop(first);
  await Promise.all(waiting);

  expect(order).toEqual(['1: in', '3: out', '2: in', '4: in']);
  expect([values.isFull, values.length]).toEqual([false, LARGE_LENGTH * 3]);
});

test('a run that is alone enters, however large it is, and one that finds no room in time does not', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  try {
    const values = createResidentValues(100);
    const [large, next] = [aRun('large'), aRun('next')];
    expect(await values.acquire(large, 1_000_000)).toBe(true);
    const entering = values.acquire(next, 0);

    vi.advanceTimersByTime(1_000);

    expect(await entering).toBe(false);
    expect(values.length).toBe(1_000_000 + LARGE_LENGTH);
  } finally {
    vi.useRealTimers();
  }
});

test('inputs count', () => {
  const values = createResidentValues(100);
  const run = aRun('r', { text: 'x'.repeat(100) });

  values.count(run);

  expect([values.isFull, run.state.residentLength]).toEqual([true, JSON.stringify({ text: 'x'.repeat(100) }).length]);
});

test('the scope around a map counts once for all of its chunks that are owned', async () => {
  const values = createResidentValues(3_000 + 4 * LARGE_LENGTH);
  const scope = { input: { list: 'x'.repeat(2_000) } };
  const scopeLength = JSON.stringify(scope).length;
  const plan = { itemVariable: 'item', indexVariable: 'index', concurrency: 2, collectResults: true };
  const around = { mapID: 'm', nodeID: 'a', scope, scopeLength, plan: { ...plan, failsFast: false, tolerated: null } };
  const chunkOf = (id: string) => aClaimedRun(shape, { id, chunk: { ...around, first: 0, items: [] } });
  const chunks = [chunkOf('1'), chunkOf('2')] as const;

  const entered = await Promise.all(chunks.map((chunk) => values.acquire(chunk, chunk.state.residentLength)));

  const own = LARGE_LENGTH + '[]'.length;
  expect([entered, values.length]).toEqual([[true, true], scopeLength + 2 * own]);
  const lengths = chunks.map((chunk) => {
    chunk.release('done');
    values.drop(chunk);
    return values.length;
  });
  expect(lengths).toEqual([scopeLength + own, 0]);

  // With the scope, a first chunk finds no room beside a run of this length.
  const large = aRun('large', {}, 'another');
  await values.acquire(large, 1_500 + 2 * LARGE_LENGTH);
  const entering = values.acquire(chunks[0], 0);
  await Promise.resolve();
  expect([values.isFull, values.length]).toEqual([true, 1_500 + 3 * LARGE_LENGTH]);
  values.drop(large);
  expect(await entering).toBe(true);
});

test('a creator alone gets four fifths of the room, and the run of another finds room at once', async () => {
  const values = createResidentValues(LARGE_LENGTH * 10);
  const [first, ...more] = ['1', '2', '3', '4'].map((id) => aRun(id));
  const order: string[] = [];
  const enter = (run: Run, length: number) =>
    values.acquire(run, length).then((isIn) => order.push(`${run.id}: ${isIn ? 'in' : 'out'}`));
  for (const run of [first, ...more]) if (run) await enter(run, LARGE_LENGTH);
  const entering = [enter(aRun('5'), LARGE_LENGTH), enter(aRun('small'), 0)];
  const neighbour = aRun('neighbour', {}, 'another');
  expect([neighbour, first].map((run) => values.isOverShare(run?.tenantID ?? ''))).toEqual([false, true]);

  await enter(neighbour, 0);

  expect(order.slice(4)).toEqual(['neighbour: in']);
  for (const run of [first, more[0]]) {
    run?.release('done');
    if (run) values.drop(run);
  }
  await Promise.all(entering);
  expect(order.slice(5)).toEqual(['5: in', 'small: in']);
  expect(values.isOverShare(neighbour.tenantID)).toBe(false);
});
