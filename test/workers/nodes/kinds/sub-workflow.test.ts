import { describe, expect, test } from 'vitest';
import { newID } from '#shared/core/ids.ts';
import type { Json } from '#shared/core/json.ts';
import { subWorkflow } from '#shared/workflow/nodes/kinds/sub-workflow.ts';
import { aNodeRun } from '#test/support/node-run.ts';
import type { NodeContext, WaitResult } from '#workers/nodes/executor.ts';
import { runSubWorkflow } from '#workers/nodes/kinds/sub-workflow.ts';

const childWorkflowID = newID();

function run(config: object, waitResult?: WaitResult) {
  const parsed = subWorkflow.config.parse({ childWorkflowID, ...config });
  const task = { config: parsed, run: aNodeRun(), signal: new AbortController().signal };
  return runSubWorkflow({ ...task, ...(waitResult && { waitResult }) }, {} as NodeContext);
}

function ended(output: Json, more: object = {}): WaitResult {
  return { kind: 'child', status: 'COMPLETED', instanceID: 'child', output, error: null, ...more };
}

describe('a sub-workflow', () => {
  test('parks until its child has ended', async () => {
    expect(await run({ inputMapping: { a: 1 }, maxDepth: 2 })).toEqual({
      park: 'child',
      workflowID: childWorkflowID,
      input: { a: 1 },
      maxDepth: 2,
    });
  });

  test('has the outputs of the child as its value, and spreads them if configured', async () => {
    const child = { childInstanceID: 'child', childStatus: 'COMPLETED', success: true };

    expect(await run({}, ended({ a: 1 }))).toEqual({ output: { subResult: { a: 1 }, ...child }, exit: 'success' });
    expect(await run({ mergeOutputs: true, outputVariable: 'sub' }, ended({ a: 1, success: 'own' }))).toEqual({
      output: { sub: { a: 1, success: 'own' }, a: 1, ...child },
      exit: 'success',
    });
    expect(await run({ mergeOutputs: true }, ended(null))).toEqual({
      output: { subResult: null, ...child },
      exit: 'success',
    });
  });

  test('fails when the child failed, with its error', async () => {
    const error = { code: 'UPSTREAM_TIMEOUT', message: 'No luck', nodeID: 'fetch', attempt: 1 };
    await expect(run({}, ended(null, { status: 'FAILED', error }))).rejects.toMatchObject({
      code: 'NODE_FAILED',
      message: 'The sub-workflow ended as FAILED at node "fetch": UPSTREAM_TIMEOUT: No luck',
    });
    const late = { code: 'RUN_TIMEOUT', message: 'Too late', nodeID: null, attempt: null };
    await expect(run({}, ended(null, { status: 'FAILED', error: late }))).rejects.toMatchObject({
      message: 'The sub-workflow ended as FAILED: RUN_TIMEOUT: Too late',
    });
    await expect(run({}, ended(null, { status: 'CANCELLED' }))).rejects.toMatchObject({
      message: 'The sub-workflow ended as CANCELLED',
    });
  });
});
