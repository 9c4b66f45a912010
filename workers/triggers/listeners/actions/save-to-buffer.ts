import { requireValue } from '#shared/core/schema/parse.ts';
import type { CountedQuota } from '#shared/tenants/counted-quotas.ts';
import { saveToBuffer } from '#shared/triggers/listeners/actions.ts';
import { runIDOf } from '#shared/triggers/listeners/run-id.ts';
import type { RunAction } from './action.ts';

/** Limit of events of a buffer whose retention is by time. */
const MAX_EVENTS = 10_000;

export function createSaveToBuffer(bytes: CountedQuota): RunAction {
  return async (config, { tenantID, listenerID, eventID, actionID, source, receivedAt, event }) => {
    const { bufferName, retentionPolicy, maxEvents, maxAgeHours } = requireValue(saveToBuffer.config, config, [
      'actionConfig',
    ]);
    const { refusal } = await bytes.addMany(tenantID, Buffer.byteLength(JSON.stringify(event)));
    if (refusal) throw refusal;
    const saved = {
      id: runIDOf(eventID, actionID),
      tenantID,
      listenerID,
      eventID,
      bufferName,
      receivedAt,
      eventData: event,
      eventMeta: { source, actionID },
      retentionHours: retentionPolicy === 'count' ? null : maxAgeHours,
      maxEvents: retentionPolicy === 'time' ? MAX_EVENTS : maxEvents,
    };
    return { saved };
  };
}
