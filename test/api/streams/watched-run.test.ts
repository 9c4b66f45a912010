import { expect, test } from 'vitest';
import { WatchedRun } from '#api/streams/watched-run.ts';
import type { ServerMessage } from '#shared/messaging/realtime/events.ts';
import { presentRunEvent, type RunEventRow } from '#shared/messaging/realtime/run-events.ts';
import { eventually } from '../../support/settle.ts';

test('live messages that arrive while a page is being read are delivered once and in order', async () => {
  const { run, answer } = aRun();
  const seen: number[] = [];
  run.watch(0, (messages) => void seen.push(...numbersOf(messages)));

  run.receive(live(1, 2));
  run.receive(live(4));
  answer([1, 2, 3, 4]);
  await eventually(() => expect(seen).toHaveLength(4));
  run.receive(live(5));

  expect(seen).toEqual([1, 2, 3, 4, 5]);
});

test('live messages that arrive while a watcher takes a page wait until it has taken it', async () => {
  const { run, answer } = aRun();
  const seen: number[][] = [];
  const { promise: taken, resolve: take } = Promise.withResolvers<void>();
  run.watch(0, (messages) => {
    seen.push(numbersOf(messages));
    return taken;
  });
  answer([1, 2]);
  await eventually(() => expect(seen).toEqual([[1, 2]]));

  run.receive(live(3));
  run.receive(live(4));
  expect(seen).toEqual([[1, 2]]);
  take();

  await eventually(() =>
    expect(seen).toEqual([
      [1, 2],
      [3, 4],
    ]),
  );
});

/** Rows of a run of five nodes: starts in the rows of the outcomes, and in rows of their own as older workers write them. */
const rows: RunEventRow[] = [
  { ...eventOf(2), nodeID: 'start', started: ['a'] },
  { ...eventOf(5), nodeID: 'a', started: ['b', 'c'] },
  { ...eventOf(6), nodeID: 'b' },
  { ...eventOf(7), nodeID: 'd', status: 'RUNNING' },
  { ...eventOf(8), nodeID: 'c' },
  { ...eventOf(10), nodeID: 'd', started: ['e'] },
  { ...eventOf(11), nodeID: 'e' },
  { ...eventOf(12), nodeID: null, status: 'COMPLETED' },
];

test.each([0, 1, 3, 4, 5, 9, 11])(
  'after message %d, rows of both forms give the rest, each once and without a hole',
  async (lastSeq) => {
    const seen: ServerMessage[] = [];
    const run = stored(rows);
    run.watch(lastSeq, (messages) => void seen.push(...messages));
    run.moved({ seq: 12, isOver: true });

    await eventually(() => expect(numbersOf(seen).at(-1)).toBe(12));
    expect(numbersOf(seen)).toEqual(Array.from({ length: 12 - lastSeq }, (_, at) => lastSeq + at + 1));
    const starts = seen.filter(({ payload }) => 'status' in payload && payload.status === 'RUNNING');
    const nodes = ['a', 'b', 'c', 'd', 'e'].slice(5 - starts.length);
    expect(starts.map(({ payload }) => 'nodeID' in payload && payload.nodeID)).toEqual(nodes);
  },
);

test('a gateway of the version before, which does not read the starts in a row, reaches the end, live or from Postgres', async () => {
  const seen: number[] = [];
  const run = stored(rows.map((row) => ({ ...row, started: null })));
  run.watch(0, (messages) => void seen.push(...numbersOf(messages)));
  await eventually(() => expect(seen).toContain(12));
  expect(seen).toEqual(rows.map(({ seq }) => seq));

  const live: number[] = [];
  const other = stored([]);
  other.watch(0, (messages) => void live.push(...numbersOf(messages)));
  other.receive(rows.flatMap(presentRunEvent));
  await eventually(() => expect(live).toContain(12));
  expect(live).toEqual(Array.from({ length: 12 }, (_, at) => at + 1));
});

/** A watched run that has these rows in Postgres. */
function stored(all: readonly RunEventRow[]): WatchedRun {
  const run = new WatchedRun({
    read: async (after) => ({ rows: all.filter(({ seq }) => seq > after), hasMore: false }),
    onIdle: () => undefined,
    onFailure: (error) => {
      throw error;
    },
  });
  run.isOpen = true;
  return run;
}

/** A watched run whose first page is read when the test answers; later pages are empty. */
function aRun() {
  const { promise: page, resolve } = Promise.withResolvers<{ rows: RunEventRow[]; hasMore: boolean }>();
  let isFirst = true;
  const run = new WatchedRun({
    async read() {
      if (!isFirst) return { rows: [], hasMore: false };
      isFirst = false;
      return page;
    },
    onIdle: () => undefined,
    onFailure: (error) => {
      throw error;
    },
  });
  run.isOpen = true;
  return { run, answer: (seqs: number[]) => resolve({ rows: seqs.map(eventOf), hasMore: false }) };
}

function live(...seqs: number[]): ServerMessage[] {
  return seqs.map(eventOf).flatMap(presentRunEvent);
}

function eventOf(seq: number): RunEventRow {
  const instanceID = '00000000-0000-4000-8000-000000000000';
  return {
    instanceID,
    seq,
    nodeID: `n${seq}`,
    iteration: 0,
    frame: null,
    started: null,
    attempt: 1,
    status: 'SUCCESS',
    exit: null,
    at: new Date(0),
    payload: null,
  };
}

function numbersOf(messages: readonly ServerMessage[]): number[] {
  return messages.map(({ payload }) => payload.seq);
}
