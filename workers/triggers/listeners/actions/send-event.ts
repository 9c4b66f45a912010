import { setTimeout as sleep } from 'node:timers/promises';
import { AppError } from '#shared/core/errors.ts';
import { requireValue } from '#shared/core/schema/parse.ts';
import type { RowEviction } from '#shared/db/evict-oldest.ts';
import type { IdempotencyClaim } from '#shared/db/idempotency.ts';
import type { Events } from '#shared/runs/send-event.ts';
import { sendEvent } from '#shared/triggers/listeners/actions.ts';
import { resolveTemplates } from '#shared/workflow/resolve-config.ts';
import type { RunAction } from './action.ts';

/** Pause before the key is claimed again, while another attempt with the same key is under way. */
const PAUSE_MS = 100;
const MAX_PAUSES = 50;

interface Needs {
  events: Pick<Events, 'send'>;
  /** Eviction of responses that are stored with their keys. */
  answers: RowEviction;
}

export function createSendEvent({ events, answers }: Needs): RunAction {
  return async (config, { tenantID, listenerID, eventID, actionID, event, caller }) => {
    const { eventName, eventKey, data, rememberMinutes } = requireValue(
      sendEvent.config,
      resolveTemplates(config, event, { root: 'event', raw: ['data'] }),
      ['actionConfig'],
    );
    const sent = {
      tenantID,
      name: eventName,
      key: String(eventKey),
      data: data === undefined ? event : resolveTemplates(data, event, { root: 'event' }),
      rememberSeconds: rememberMinutes * 60,
      caller,
    };
    const onStored = (bytes: number) => void answers.wrote(tenantID, bytes);
    const answer = await events.send(sent, { ...claimOf(listenerID, `${eventID}.${actionID}`), onStored });
    return { result: { eventID: answer.eventID, reached: answer.reached } };
  };
}

/** Idempotency claim of the action for this event: a repeated attempt, whose predecessor's answer was lost, sends nothing again. */
function claimOf(listenerID: string, key: string): Omit<IdempotencyClaim, 'onStored'> {
  let pauses = 0;
  return {
    principal: listenerID,
    route: 'send_event',
    key,
    // Not a hash of the data, which the code of a transform may have changed in the second attempt.
    requestHash: key,
    onReplay: () => undefined,
    async pause() {
      pauses += 1;
      if (pauses > MAX_PAUSES) throw new AppError('UNAVAILABLE', 'Another attempt still sends this event');
      await sleep(PAUSE_MS);
    },
  };
}
