import { describe, expect, test } from 'vitest';
import { waitForEvent } from '#shared/workflow/nodes/kinds/wait-for-event.ts';
import { aNodeRun } from '#test/support/node-run.ts';
import type { NodeContext, WaitResult } from '#workers/nodes/executor.ts';
import { runWaitForEvent } from '#workers/nodes/kinds/wait-for-event.ts';

function run(config: object, waitResult?: WaitResult) {
  const parsed = waitForEvent.config.parse({ eventName: 'paid', eventKey: 42, ...config });
  const task = { config: parsed, run: aNodeRun(), signal: new AbortController().signal };
  return runWaitForEvent({ ...task, ...(waitResult && { waitResult }) }, {} as NodeContext);
}

describe('a wait for an event', () => {
  test('parks for a name and a key, which is a text, until its time is over', async () => {
    const parked = { park: 'event', name: 'paid', key: '42', lookbackMs: 3_600_000, expiresInMs: 3_600_000 };
    expect(await run({})).toEqual(parked);
    expect(await run({ expiryMinutes: 0, lookbackMinutes: 0 })).toEqual({
      ...parked,
      lookbackMs: 0,
      expiresInMs: null,
    });
  });

  test('has the data of the event as its value', async () => {
    const event = { id: 'e', data: { amount: 5 }, sentAt: '2026-11-22T10:00:00.000Z' };
    const { data, id: eventID, sentAt } = event;
    expect(await run({ outputVariable: 'payment' }, { kind: 'event', event })).toEqual({
      output: { payment: data, eventID, eventName: 'paid', eventKey: '42', sentAt, success: true },
      exit: 'received',
    });
  });

  test('leaves by `expired` when no event came, or fails', async () => {
    const none: WaitResult = { kind: 'event', event: null };
    expect(await run({}, none)).toEqual({
      output: { event: null, eventName: 'paid', eventKey: '42', success: false, expired: true },
      exit: 'expired',
    });
    await expect(run({ onTimeout: 'fail' }, none)).rejects.toMatchObject({
      code: 'NODE_TIMEOUT',
      message: expect.stringContaining('minutes (`expiryMinutes` of the node)'),
      retry: false,
    });
  });
});
