import { expect, test } from 'vitest';
import { WatchedRun } from '#api/realtime/watched-run.ts';
import { presentRunEvent, type RunEventRow, type ServerMessage } from '#shared/realtime/events.ts';
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

/** A watched run whose first page is read when the test answers; later pages are empty. */
function aRun() {
  const { promise: page, resolve } = Promise.withResolvers<RunEventRow[]>();
  let isFirst = true;
  const run = new WatchedRun({
    async read() {
      if (!isFirst) return [];
      isFirst = false;
      return page;
    },
    onIdle: () => undefined,
    onFailure: (error) => {
      throw error;
    },
  });
  run.isOpen = true;
  return { run, answer: (seqs: number[]) => resolve(seqs.map(eventOf)) };
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
    attempt: 1,
    status: 'SUCCESS',
    payload: null,
  };
}

function numbersOf(messages: readonly ServerMessage[]): number[] {
  return messages.map(({ payload }) => payload.seq);
}
