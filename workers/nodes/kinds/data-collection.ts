import { AppError } from '#shared/core/errors.ts';
import type { dataCollection } from '#shared/workflow/nodes/kinds/data-collection.ts';
import { ask, notAnswered } from '../ask.ts';
import type { Executor } from '../executor.ts';

export const runDataCollection: Executor<typeof dataCollection> = async ({ config, waitResult }) => {
  if (waitResult?.kind !== 'input') {
    const { collectionType, fields, formSchema, formUischema, outputVariable } = config;
    return ask(config, { collectionType, fields, formSchema, formUischema, outputVariable });
  }
  if (waitResult.submission)
    return { output: { [config.outputVariable]: waitResult.submission, success: true }, exit: 'output' };
  if (config.timeoutHandle)
    return { output: { [config.outputVariable]: null, success: false, expired: true }, exit: config.timeoutHandle };
  throw new AppError('NODE_TIMEOUT', `The form ${notAnswered(config)}`, { retry: false });
};
