import type { RunEventPayload, RunEventRow } from '#shared/messaging/realtime/run-events.ts';
import { innermost } from '#shared/workflow/progress/iteration-path.ts';
import { briefOf } from '../state/large-outputs.ts';
import type { PendingEvent } from '../state/pending-commit.ts';
import { type Entry, pathOf, startedBy } from './values.ts';

/** The rows of a commit, for the gateways. */
export function toRows({ run, pending, fromSeq }: Entry, at: Date): RunEventRow[] {
  let seq = fromSeq;
  return pending.events.map((event) => {
    seq += 1 + event.started.length;
    return {
      instanceID: run.id,
      seq,
      nodeID: event.activation?.node.id ?? null,
      iteration: innermost(pathOf(event)),
      frame: pathOf(event),
      attempt: event.attempt,
      status: event.status,
      exit: event.exit,
      at,
      payload: shownPayload(event),
      started: startedBy(event),
      log: event.log ?? null,
    };
  });
}

/** The payload of an event for clients, with a description in place of a large output. */
function shownPayload(event: PendingEvent): RunEventPayload | null {
  const brief = briefOf(event);
  if (brief) return { ...(JSON.parse(brief) as RunEventPayload), outputOmitted: true };
  return event.payload === null ? null : (JSON.parse(event.payload) as RunEventPayload);
}
