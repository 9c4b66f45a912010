import type { JsonObject } from '#shared/core/json.ts';
import { reminderTimes } from '#shared/workflow/nodes/reminders.ts';
import type { Park } from './executor.ts';

interface RequestConfig {
  title?: string | undefined;
  description?: string | undefined;
  approvers?: string | readonly string[] | undefined;
  expiryMinutes: number;
  answerByLink: boolean;
  linkExpiryMinutes: number;
  reminders?: Parameters<typeof reminderTimes>[0]['reminders'];
}

/** Parks until a person answers. The request holds what the person is shown, and who may answer. */
export function ask(config: RequestConfig, request: object): Park {
  const { title, description, approvers, expiryMinutes, answerByLink, linkExpiryMinutes } = config;
  const reminders = reminderTimes(config);
  const shown = {
    title,
    description,
    ...request,
    expiryMinutes,
    ...(answerByLink && { answerByLink, linkExpiryMinutes }),
    approvers: approvers && namesIn(approvers),
    // Minutes after the question was asked.
    reminders: reminders.length > 0 ? reminders : undefined,
  };
  return {
    park: 'input',
    // Zero means for ever.
    expiresInMs: expiryMinutes === 0 ? null : expiryMinutes * 60_000,
    // Writing and parsing drops keys that are undefined.
    request: JSON.parse(JSON.stringify(shown)) as JsonObject,
  };
}

/** Says in an error how long a question was open, and where that is set. */
export function notAnswered({ expiryMinutes }: Pick<RequestConfig, 'expiryMinutes'>): string {
  const setBy = '`expiryMinutes` of the node, else `humanInLoopTimeout` of the workflow';
  return `was not answered within ${expiryMinutes} minutes (${setBy})`;
}

function namesIn(approvers: string | readonly string[]): string[] {
  const names = typeof approvers === 'string' ? approvers.split(',') : approvers;
  return names.map((name) => name.trim().toLowerCase()).filter((name) => name !== '');
}
