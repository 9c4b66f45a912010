import { expect, test } from 'vitest';
import { approval } from '#shared/workflow/nodes/kinds/approval.ts';
import { failedExitOf } from '#shared/workflow/nodes/properties.ts';
import { aNodeRun } from '#test/support/node-run.ts';
import type { NodeContext, NodeRun, WaitResult } from '#workers/nodes/executor.ts';
import { runApproval } from '#workers/nodes/kinds/approval.ts';

function run(given: object, waitResult?: WaitResult) {
  const config = approval.config.parse(given);
  const task = { config, run: aNodeRun(), signal: new AbortController().signal, ...(waitResult && { waitResult }) };
  return runApproval(task, {} as NodeContext);
}

test('parks with its labels, its form and those who may answer', async () => {
  const approvers = ' Ann@example.test, Managers ,';
  const formSchema = (more: object, required: string[]) => ({
    type: 'object',
    properties: {
      decision: { type: 'string', enum: ['approve', 'reject'] },
      comment: { type: 'string', maxLength: 10_000, ...more },
    },
    required,
    additionalProperties: false,
  });
  const labels = { approveLabel: 'Accept', rejectLabel: 'No', cancelLabel: 'Cancel' };
  const common = { collectionType: 'approval', onTimeout: 'expired', outputVariable: 'approval', ...labels };

  expect(await run({ title: 'Order 7', approvers, rejectLabel: 'No', expiryMinutes: 0 })).toEqual({
    park: 'input',
    expiresInMs: null,
    request: {
      ...common,
      title: 'Order 7',
      requireComment: false,
      expiryMinutes: 0,
      approvers: ['ann@example.test', 'managers'],
      formSchema: formSchema({}, ['decision']),
    },
  });
  expect(await run({ requireComment: true, rejectLabel: 'No', expiryMinutes: 2 })).toEqual({
    park: 'input',
    expiresInMs: 120_000,
    request: {
      ...common,
      requireComment: true,
      expiryMinutes: 2,
      formSchema: formSchema({ minLength: 1 }, ['decision', 'comment']),
    },
  });
});

test('names whose answer it does not take: who started the run, and not who owns what started it', async () => {
  const [id, userID, other] = ['a', 'b', 'c'].map((letter) => letter.repeat(8)) as [string, string, string];
  const notBy = async (caller: NodeRun['caller'], notByStarter = true) => {
    const task = { config: approval.config.parse({ notByStarter }), signal: new AbortController().signal };
    const parked = await runApproval({ ...task, run: aNodeRun({ caller }) }, {} as NodeContext);
    return 'request' in parked ? parked.request.notBy : expect.fail('it has not asked');
  };

  const user = { type: 'user', id, origin: 'direct' } as const;
  expect(await notBy(user)).toBe(id);
  expect(await notBy(user, false)).toBe(undefined);
  expect(await notBy({ type: 'apiKey', id, userID, origin: 'workflow' })).toBe(userID);
  expect(await notBy({ ...user, origin: 'appPage', requestedBy: { type: 'user', id: other } })).toBe(other);
  expect(await notBy({ ...user, origin: 'cron' })).toBe(undefined);
  expect(await notBy({ ...user, origin: 'listener' })).toBe(undefined);
  expect(await notBy({ ...user, origin: 'test' })).toBe(undefined);
});

test.each([
  [{ decision: 'approve', comment: 'Fine' }, { approved: true, comment: 'Fine' }, 'approved'],
  [{ decision: 'reject' }, { approved: false, comment: '' }, 'rejected'],
])('the answer %j is %j', async (submission, value, exit) => {
  expect(await run({ outputVariable: 'boss' }, { kind: 'input', submission })).toEqual({
    output: { boss: value, success: true },
    exit,
  });
});

test('when its time is over, leaves by an exit of its own or fails', async () => {
  const late: WaitResult = { kind: 'input', submission: null };

  expect(await run({}, late)).toEqual({
    output: { approval: { approved: false, expired: true, comment: '' }, success: false, expired: true },
    exit: 'expired',
  });
  await expect(run({ onTimeout: 'fail' }, late)).rejects.toMatchObject({
    code: 'NODE_TIMEOUT',
    message: expect.stringContaining(
      'The approval was not answered within 60 minutes (`expiryMinutes` of the node, else',
    ),
    retry: false,
  });
});

test('a failure that is passed over is a rejection, and a list of approvers is never empty', () => {
  expect(failedExitOf(approval, {})).toBe('rejected');
  for (const approvers of ['', [], null, [''], 7])
    expect(approval.config.safeParse({ approvers }).success, JSON.stringify(approvers)).toBe(false);
});
