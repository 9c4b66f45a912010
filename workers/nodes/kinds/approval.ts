import { starterOf } from '#shared/core/caller.ts';
import { AppError } from '#shared/core/errors.ts';
import { Decision } from '#shared/workflow/nodes/decision.ts';
import type { approval } from '#shared/workflow/nodes/kinds/approval.ts';
import { ask, notAnswered } from '../ask.ts';
import type { Executor, Task } from '../executor.ts';

const MAX_COMMENT = 10_000;

export const runApproval: Executor<typeof approval> = async ({ config, run, waitResult }) => {
  const { outputVariable, onTimeout } = config;
  if (waitResult?.kind !== 'input') {
    const notBy = config.notByStarter ? starterOf(run.caller) : undefined;
    return ask(config, { ...requestOf(config), notBy });
  }
  if (waitResult.submission) {
    const { decision, comment = '' } = waitResult.submission;
    const approved = decision === Decision.enum.approve;
    return {
      output: { [outputVariable]: { approved, comment }, success: true },
      exit: approved ? 'approved' : 'rejected',
    };
  }
  if (onTimeout === 'fail') throw new AppError('NODE_TIMEOUT', `The approval ${notAnswered(config)}`, { retry: false });
  return {
    output: { [outputVariable]: { approved: false, expired: true, comment: '' }, success: false, expired: true },
    exit: 'expired',
  };
};

function requestOf({
  collectionType,
  requireComment,
  approveLabel,
  rejectLabel,
  cancelLabel,
  onTimeout,
  outputVariable,
}: Config) {
  const formSchema = {
    type: 'object',
    properties: {
      decision: { type: 'string', enum: Decision.options },
      comment: { type: 'string', maxLength: MAX_COMMENT, ...(requireComment && { minLength: 1 }) },
    },
    required: ['decision', ...(requireComment ? ['comment'] : [])],
    additionalProperties: false,
  };
  const labels = { approveLabel, rejectLabel, cancelLabel };
  return { collectionType, requireComment, ...labels, onTimeout, outputVariable, formSchema };
}

type Config = Task<typeof approval>['config'];
