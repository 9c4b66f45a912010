import { AppError } from '#shared/core/errors.ts';
import type { workflowPlans } from '#shared/messaging/queues/workflow-plans.ts';
import { createVersions } from '../engine/claim/versions.ts';
import { planRun } from '../engine/plan/plan-run.ts';
import type { RPCHandler } from './answer-requests.ts';

const MAX_MS = 5_000;

export const answerWorkflowPlan: RPCHandler<typeof workflowPlans> = async (
  { request: { versionID, input }, signal },
  { pool },
) => {
  const version = await createVersions(pool)(versionID);
  const tooLong = AbortSignal.timeout(MAX_MS);
  try {
    return await planRun(version, input, AbortSignal.any([signal, tooLong]));
  } catch (error) {
    if (!tooLong.aborted) throw error;
    throw new AppError('PAYLOAD_TOO_LARGE', `The plan takes longer than ${MAX_MS / 1000} s`, { cause: error });
  }
};
