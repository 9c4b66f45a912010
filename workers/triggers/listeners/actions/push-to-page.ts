import { requireValue } from '#shared/core/schema/parse.ts';
import { pushToAppPage } from '#shared/triggers/listeners/actions.ts';
import type { RunAction } from './action.ts';

/** An event with more characters is pushed to pages without its data. */
const MAX_LENGTH = 65_536;

export const pushToPage: RunAction = async (config, { tenantID, listenerID, eventID, event }) => {
  const {
    appPageID,
    channelName = `listener:${listenerID}`,
    mode,
    maxArrayLength,
  } = requireValue(pushToAppPage.config, config, ['actionConfig']);
  const isLarge = JSON.stringify(event).length > MAX_LENGTH;
  const pagePush = {
    tenantID,
    appPageID,
    listenerID,
    eventID,
    channelName,
    data: isLarge ? null : event,
    ...(isLarge && { dataOmitted: true as const }),
    mode,
    limit: maxArrayLength,
    timestamp: Date.now(),
  };
  return { pagePush };
};
