import type { RunEventPayload, RunEventRow } from '#shared/messaging/realtime/run-events.ts';
import { innermost } from '#shared/workflow/progress/iteration-path.ts';
import { briefOf, withoutLongOutput } from '../state/large-outputs.ts';
import type { PendingEvent } from '../state/pending-commit.ts';
import { type Entry, pathOf, startedBy } from './values.ts';

/** The rows of a commit, for the gateways. */
export function toRows({ run, pending, fromSeq, output }: Entry, at: Date): RunEventRow[] {
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
      payload: shownPayload(event, output),
      started: startedBy(event),
      log: event.log ?? null,
    };
  });
}

/** The payload of an event for clients, with a description in place of a large output. `runOutput`: JSON text of the run's output. */
function shownPayload(event: PendingEvent, runOutput: string | null): RunEventPayload | null {
  const { payload, activation, status, source } = event;
  const length = activation ? status === 'SUCCESS' && source?.length : runOutput?.length;
  const brief = briefOf(event) ?? withoutLongOutput(payload, length || 0);
  if (brief) return { ...(JSON.parse(brief) as RunEventPayload), outputOmitted: true };
  return payload === null ? null : (JSON.parse(payload) as RunEventPayload);
}
