import { z } from 'zod';
import { looseObject, recordOf } from '#shared/core/record.ts';
import { Moment } from '#shared/core/schema/moment.ts';
import { NumberText } from '#shared/core/schema/number-text.ts';
import { idOf } from '#shared/core/schema/reference.ts';
import { ID } from '../../http/fields/id.ts';
import { pageFields, pageQuery, standardPage } from '../../http/fields/paging.ts';
import { Message } from '../../http/fields/response-parts.ts';
import { exampleBuffered, exampleCounts, exampleEvent, exampleEventDetail, exampleRedrive } from './event-examples.ts';

export const EventID = z.object({ listenerID: idOf('listener'), eventID: idOf('event') });

const state = z.enum(['pending', 'done', 'filtered', 'duplicate', 'dead', 'replaced']);

export const EventList = z.object({
  state: state.optional().describe('`dead`: the dead letters'),
  limit: NumberText(z.int().min(1).max(100)).prefault(20),
  cursor: ID.optional().describe('The `nextCursor` of the page before'),
  preview: z.enum(['true', 'false']).default('false').describe('Whether the events have `bodyPreview`'),
});

const EventError = z
  .object({ code: z.string(), message: z.string() })
  .meta({ id: 'ListenerEventError', examples: [{ code: 'NOT_FOUND', message: 'The listener was deleted' }] });

const ofEvent = {
  eventID: z.uuid(),
  listenerID: z.uuid(),
  source: z.string(),
  receivedAt: z.iso.datetime(),
  state: state.describe(
    '`filtered`: an action has ended it. `dead`: it could not be processed. `replaced`: it was dead, and a corrected copy has taken its place',
  ),
  attempts: z.int().describe('Attempts that have failed'),
  nextAttemptAt: z.iso.datetime().nullable(),
  heldBy: z
    .enum(['turn', 'target', 'listener'])
    .nullable()
    .describe(
      'What a pending event waits for. `turn`: an earlier event with its key. `target`: the circuit breaker of the listener. `listener`: that the listener is activated',
    ),
  error: EventError.nullable().describe('Of the last attempt'),
  instanceID: z.uuid().nullable().describe('The first run that it has started'),
  duplicateOf: z.uuid().nullable(),
  replayOf: z.uuid().nullable(),
  bodyBytes: z.int(),
  finishedAt: z.iso.datetime().nullable(),
  expiresAt: z.iso.datetime().nullable().describe('When it is deleted'),
};

export const MAX_PREVIEW = 200;

export const ListenerEvent = z
  .object({
    ...ofEvent,
    bodyPreview: z
      .string()
      .nullable()
      .optional()
      .describe(`With \`preview=true\`: the first ${MAX_PREVIEW} characters of the body; null if it is not UTF-8`),
  })
  .meta({ id: 'ListenerEvent', examples: [exampleEvent] });

const ActionOutcome = z
  .object({
    type: z.string(),
    state: z.enum(['done', 'filtered', 'waiting', 'failed']),
    attempts: z.int(),
    at: z.iso.datetime(),
    error: EventError.optional(),
    instanceID: z.uuid().optional(),
    result: looseObject({}).optional(),
  })
  .meta({ id: 'ListenerActionOutcome' });

export const ListenerEventDetail = z
  .object({
    ...ofEvent,
    method: z.string().nullable(),
    path: z.string().nullable(),
    query: z.string().nullable(),
    params: recordOf(z.unknown()).nullable(),
    headers: z.array(z.tuple([z.string(), z.string()])).describe('As they were sent; credentials are masked'),
    meta: looseObject({}).nullable(),
    bodyText: z.string().nullable().describe('The body, if it is UTF-8'),
    bodyBase64: z.string().nullable().describe('The body, if it is not UTF-8'),
    actions: z.record(z.string(), ActionOutcome).describe('What has become of each action, by its id'),
  })
  .meta({ id: 'ListenerEventDetail', examples: [exampleEventDetail] });

export const EventPage = z.object({
  events: z.array(ListenerEvent),
  nextCursor: z.uuid().nullable().describe('For `cursor`; null at the end of the list'),
});

export const EventAnswer = z.object({ event: ListenerEventDetail });

const HOUR_MS = 3_600_000;
const MAX_HOURS = 168;

export const CountsQuery = z
  .object({
    from: Moment.optional().describe('Default: 24 hours before `to`'),
    to: Moment.optional().describe('Default: now'),
  })
  .transform(({ from, to }, check) => {
    // A minute ahead, so that events that are recorded during the request are counted.
    const until = to ?? new Date(Date.now() + 60_000);
    const since = from ?? new Date(until.getTime() - 24 * HOUR_MS);
    const ms = until.getTime() - since.getTime();
    if (ms > 0 && ms <= MAX_HOURS * HOUR_MS + 60_000 && since.getTime() >= 0) return { from: since, to: until };
    const message = `must be before \`to\`, and at most ${MAX_HOURS} hours`;
    check.addIssue({ code: 'custom', path: ['from'], message });
    return z.NEVER;
  });

export const EventCounts = z
  .object({
    from: z.iso.datetime(),
    to: z.iso.datetime(),
    total: z.int().describe('Events recorded in the period that are not deleted yet: the sum of the others'),
    pending: z.int(),
    done: z.int(),
    filtered: z.int(),
    duplicate: z.int(),
    dead: z.int(),
    replaced: z.int(),
  })
  .meta({ id: 'ListenerEventCounts', examples: [exampleCounts] });

const Filter = z
  .object({
    eventIDs: z.array(idOf('event')).min(1).max(1_000).optional(),
    errorCode: z.string().min(1).max(64).optional(),
    receivedFrom: Moment.optional(),
    receivedUntil: Moment.optional(),
  })
  .meta({ id: 'DeadLetterFilter', description: 'All that are named have to hold; none: every dead letter' });

export const Redrive = z
  .object({
    filter: Filter.prefault({}),
    perSecond: z.number().min(0.1).max(1_000).optional().describe('Default: all at once'),
  })
  .meta({ id: 'DeadLetterRedrive', examples: [exampleRedrive] });

export const Redriven = z.object({
  redriven: z.int().meta({ examples: [1_000] }),
  duplicates: z
    .int()
    .describe('Dead letters that are not processed again, because another delivery with their id was accepted')
    .meta({ examples: [0] }),
  hasMore: z
    .boolean()
    .describe('There may be more: ask again')
    .meta({ examples: [false] }),
  lastAt: z.iso
    .datetime()
    .nullable()
    .describe('When the last of them is processed, if there is room')
    .meta({ examples: ['2026-03-05T14:05:32.480Z'] }),
  message: Message,
});

export const Purge = z
  .object({ filter: Filter.prefault({}) })
  .meta({ id: 'DeadLetterPurge', examples: [{ filter: {} }] });

export const Purged = z.object({
  purged: z.int().meta({ examples: [12] }),
  hasMore: z
    .boolean()
    .describe('There may be more: ask again')
    .meta({ examples: [false] }),
  message: Message,
});

const MAX_BODY = 10_000_000;

export const RedriveOne = z
  .object({
    bodyText: z.string().max(MAX_BODY).optional().describe('In place of its body'),
    bodyBase64: z.base64().max(MAX_BODY).optional().describe('The same, of bytes'),
    headers: z
      .array(z.tuple([z.string().min(1).max(256).toLowerCase(), z.string().max(16_384)]))
      .max(200)
      .optional()
      .describe('In place of its headers'),
  })
  .refine(({ bodyText, bodyBase64 }) => bodyText === undefined || bodyBase64 === undefined, {
    path: ['bodyBase64'],
    message: 'expected bodyText or bodyBase64, and not both',
  })
  .meta({ id: 'DeadLetterCorrection', examples: [{ bodyText: '{"orderID":7}' }] });

/** The event that is processed: another than that of the path if it was corrected or replayed. */
export const Started = z.object({
  eventID: z.uuid().meta({ examples: [exampleEvent.eventID] }),
  replayOf: z
    .uuid()
    .nullable()
    .meta({ examples: [null] }),
  duplicateOf: z.uuid().optional().describe('The event that was processed in its place, if it is a duplicate'),
  message: Message,
});

export const BufferQuery = z.object({
  ...pageQuery(standardPage),
  bufferName: z.string().min(1).max(100).default('default'),
});

export const BufferedEvents = z.object({
  events: z.array(
    z
      .object({
        id: z.uuid(),
        eventID: z.uuid(),
        listenerID: z.uuid(),
        bufferName: z.string(),
        seqNo: z.int().describe('Larger than that of every event saved before'),
        eventData: recordOf(z.unknown()),
        eventMeta: looseObject({}),
        receivedAt: z.iso.datetime(),
      })
      .meta({ id: 'BufferedEvent', examples: [exampleBuffered] }),
  ),
  ...pageFields,
});
