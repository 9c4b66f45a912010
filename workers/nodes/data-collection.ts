import { AppError } from '#shared/errors.ts';
import type { JsonObject } from '#shared/json.ts';
import type { dataCollection } from '#shared/nodes/data-collection.ts';
import type { Executor } from './executor.ts';

export const runDataCollection: Executor<typeof dataCollection> = async ({ config, fact }) => {
  if (fact?.kind !== 'input') {
    const { collectionType, title, description, fields, formSchema, formUischema, outputVariable, expiryMinutes } =
      config;
    const request = {
      collectionType,
      title,
      description,
      fields,
      formSchema,
      formUischema,
      outputVariable,
      expiryMinutes,
    };
    return {
      park: 'input',
      // Zero means for ever.
      expiresInMs: expiryMinutes === 0 ? null : expiryMinutes * 60_000,
      request: JSON.parse(JSON.stringify(request)) as JsonObject,
    };
  }
  if (fact.submission) return { output: { [config.outputVariable]: fact.submission, success: true }, exit: 'output' };
  if (config.timeoutHandle)
    return { output: { [config.outputVariable]: null, success: false, expired: true }, exit: config.timeoutHandle };
  throw new AppError('NODE_TIMEOUT', `The form was not answered within ${config.expiryMinutes} minutes`, {
    retry: false,
  });
};
