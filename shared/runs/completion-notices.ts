import { z } from 'zod';
import { OwnJson } from '../core/json.ts';
import type { Logger } from '../core/logger.ts';
import { storableJSON } from '../db/storable.ts';
import type { Messages } from '../messaging/backplane/index.ts';
import { moreOfRunError } from '../workflow/run-error.ts';

const RunOutcome = z.object({
  status: z.enum(['COMPLETED', 'FAILED', 'CANCELLED']),
  output: OwnJson,
  error: z
    .object({
      code: z.string(),
      message: z.string(),
      nodeID: z.string().nullable(),
      attempt: z.int().nullable(),
      ...moreOfRunError,
    })
    .nullable(),
});
export type RunOutcome = z.infer<typeof RunOutcome>;

/**
 * Message to the process that waits for a run: how the run has ended, or that it is parked. A large outcome is left out, and the process
 * reads it from Postgres.
 */
export const CompletionNotice = z.object({
  instanceID: z.uuid(),
  outcome: RunOutcome.optional(),
  isParked: z.literal(true).optional(),
});
export type CompletionNotice = z.infer<typeof CompletionNotice>;

/** Sends a notice to the channel of a waiting process. If it is lost, that process notices the end of the run about a second later. */
export type NotifyCompletion = (channel: string, end: CompletionNotice) => void;

/** Postgres refuses messages of 8,000 bytes and more. */
const MAX_MESSAGE_BYTES = 7_500;
/** Limit of an outcome in a notice. A larger one is left out. */
export const MAX_OUTCOME_BYTES = 4_000;

/** Collects the notices of one iteration of the event loop into few messages, because a commit may end many runs. */
export function createCompletionNotices(messages: Messages, logger: Logger): NotifyCompletion {
  const pending = new Map<string, Sized[]>();

  function send(): void {
    for (const [channel, ends] of pending)
      for (const message of inMessages(ends))
        messages
          .publish(channel, message)
          .catch((error) =>
            logger.debug({ err: error }, 'ends of runs not sent; the process that waits will read them'),
          );
    pending.clear();
  }

  return (channel, end) => {
    if (pending.size === 0) setImmediate(send);
    const ends = pending.get(channel);
    if (ends) ends.push(sized(end));
    else pending.set(channel, [sized(end)]);
  };
}

interface Sized {
  end: CompletionNotice;
  bytes: number;
}

function sized(end: CompletionNotice): Sized {
  const text = JSON.stringify(end);
  const bytes = Buffer.byteLength(text);
  if (bytes > MAX_OUTCOME_BYTES) return sized({ instanceID: end.instanceID });
  // Postgres cannot store every character: the client gets the same text as if the outcome had been read from there.
  const stored = storableJSON(text);
  return { end: stored === text ? end : JSON.parse(stored), bytes };
}

function* inMessages(ends: readonly Sized[]): Generator<CompletionNotice[]> {
  let message: CompletionNotice[] = [];
  let length = 0;
  for (const { end, bytes } of ends) {
    if (length + bytes > MAX_MESSAGE_BYTES) {
      yield message;
      message = [];
      length = 0;
    }
    message.push(end);
    // One byte for the comma. The brackets of the list fit between this limit and that of Postgres.
    length += bytes + 1;
  }
  if (message.length > 0) yield message;
}
