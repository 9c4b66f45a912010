/** The reducer alone: a run in memory, the result of a node, and the consequence. `any-order.test.ts` has its properties. */
import { expect, test } from 'vitest';
import { AppError } from '#shared/core/errors.ts';
import { createLogger } from '#shared/core/logger.ts';
import type { Activation } from '#shared/workflow/progress/progress.ts';
import { aClaimedRun } from '#test/support/claimed-run.ts';
import { noops } from '#test/support/graphs.ts';
import type { Transition } from '#workers/engine/execute/node-result.ts';
import { reduce } from '#workers/engine/execute/reducer.ts';
import { createTask } from '#workers/engine/execute/task.ts';
import type { Run } from '#workers/engine/state/run.ts';

const limits = { nodeOutputMaxBytes: 100, runOutputMaxBytes: 1_000 };
const silent = createLogger({ level: 'silent' });

function begin(): { run: Run; start: Activation } {
  const run = aClaimedRun(noops(2));
  const [start = expect.fail('no node is ready')] = run.state.begin();
  return { run, start };
}

function done(run: Run, activation: Activation, output: Record<string, string>, exit = 'output') {
  return { kind: 'done', task: createTask(run, activation, undefined, silent), resolved: {}, output, exit } as const;
}

function nextOf(transition: Transition): string[] {
  return transition && 'next' in transition ? transition.next.map(({ node }) => node.id) : [];
}

test('an output becomes an event, and makes the next node ready; nothing is started', () => {
  const { run, start } = begin();

  const transition = reduce(limits, run, start, done(run, start, { started: 'yes' }));

  expect(nextOf(transition)).toEqual(['n1']);
  const { events, next, end } = run.takePending();
  expect(events.map(({ status, exit }) => [status, exit])).toEqual([['SUCCESS', 'output']]);
  expect({ next, end }).toEqual({ next: [], end: null });
});

test.each([
  ['is too large', { value: 'x'.repeat(200) }, 'output', 'OUTPUT_TOO_LARGE'],
  ['leaves by an exit that the node does not have', {}, 'nowhere', 'NODE_FAILED'],
])('an output that %s fails the run', (_, output, exit, code) => {
  const { run, start } = begin();

  expect(reduce(limits, run, start, done(run, start, output, exit))).toBeNull();

  const { events, end } = run.takePending();
  expect(events.map(({ status }) => status)).toEqual(['FAILED', 'FAILED']);
  expect(end?.error).toMatchObject({ code, nodeID: start.node.id, attempt: 1 });
  expect(run.isOver).toBe(true);
});

test('a node that parks has an event, and its wait is the consequence', () => {
  const { run, start } = begin();
  const wait = { kind: 'time', purpose: 'park', ms: 1_000 } as const;

  const event = { status: 'SUSPENDED', exit: null, payload: null } as const;
  expect(reduce(limits, run, start, { kind: 'parks', parked: { event, wait } })).toEqual({ wait });

  expect(run.takePending().events.map(({ status }) => status)).toEqual(['SUSPENDED']);
});

test('a refused write leaves the node by its usual exit, without a value', () => {
  const { run, start } = begin();

  const transition = reduce(limits, run, start, { kind: 'write refused', resolved: {}, write: 'insert …' });

  expect(nextOf(transition)).toEqual(['n1']);
  expect(run.takePending().events[0]).toMatchObject({
    status: 'SKIPPED',
    payload: expect.stringContaining('insert …'),
  });
});

test('a failed attempt of a node without retries fails the run', () => {
  const { run, start } = begin();
  const error = new AppError('NODE_FAILED', 'no luck');

  expect(reduce(limits, run, start, { kind: 'failed', resolved: undefined, error })).toBeNull();

  expect(run.takePending().end?.error).toMatchObject({ message: 'no luck' });
});
