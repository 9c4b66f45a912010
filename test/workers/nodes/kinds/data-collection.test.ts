import { describe, expect, test } from 'vitest';
import { dataCollection } from '#shared/workflow/nodes/kinds/data-collection.ts';
import { aNodeRun } from '#test/support/node-run.ts';
import type { NodeContext, WaitResult } from '#workers/nodes/executor.ts';
import { runDataCollection } from '#workers/nodes/kinds/data-collection.ts';

const fields = [{ key: 'name', required: true }];

function run(config: object, waitResult?: WaitResult) {
  const parsed = dataCollection.config.parse({ fields, ...config });
  const task = { config: parsed, run: aNodeRun(), signal: new AbortController().signal };
  return runDataCollection({ ...task, ...(waitResult && { waitResult }) }, {} as NodeContext);
}

describe('a data collection', () => {
  test('parks with the form for the user', async () => {
    expect(await run({ title: 'Who?', expiryMinutes: 2 })).toEqual({
      park: 'input',
      expiresInMs: 120_000,
      request: {
        collectionType: 'form',
        title: 'Who?',
        fields: [{ key: 'name', fieldType: 'text', required: true }],
        outputVariable: 'collectedData',
        expiryMinutes: 2,
      },
    });
  });

  test('without a number of minutes waits without a deadline', async () => {
    expect(await run({ expiryMinutes: 0 })).toMatchObject({ expiresInMs: null });
  });

  test('has the answer as its value', async () => {
    expect(await run({ outputVariable: 'who' }, { kind: 'input', submission: { name: 'A' } })).toEqual({
      output: { who: { name: 'A' }, success: true },
      exit: 'output',
    });
  });

  test('leaves by its timeout handle at the deadline, and fails without one', async () => {
    const expired: WaitResult = { kind: 'input', submission: null };

    expect(await run({ timeoutHandle: 'late' }, expired)).toEqual({
      output: { collectedData: null, success: false, expired: true },
      exit: 'late',
    });
    await expect(run({}, expired)).rejects.toMatchObject({
      code: 'NODE_TIMEOUT',
      message: expect.stringContaining(
        'The form was not answered within 60 minutes (`expiryMinutes` of the node, else',
      ),
      retry: false,
    });
  });
});
