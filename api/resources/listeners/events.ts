import { isUtf8 } from 'node:buffer';
import type { FilterQuery } from '@mikro-orm/postgresql';
import type { z } from 'zod';
import { currentReservation } from '#shared/concurrency/work-context.ts';
import { AppError } from '#shared/core/errors.ts';
import { textArray } from '#shared/db/array.ts';
import { onEntities } from '#shared/db/query.ts';
import type { EntityManager } from '#shared/entities/orm.ts';
import { ListenerBuffer } from '#shared/entities/tables/listener-buffer.ts';
import { ListenerEvent as EventEntity } from '#shared/entities/tables/listener-event.ts';
import { COUNT_EVENTS } from '#shared/triggers/listeners/dead-letters.ts';
import { tenantRoute } from '../../context/routes.ts';
import { findPage } from '../../http/fields/paging.ts';
import {
  BufferedEvents,
  BufferQuery,
  CountsQuery,
  EventAnswer,
  EventCounts,
  EventID,
  EventList,
  EventPage,
  type ListenerEvent,
  ListenerEventDetail,
  MAX_PREVIEW,
} from './event-schemas.ts';
import { getListener } from './find.ts';
import { ListenerID } from './schemas.ts';

const listEvents = tenantRoute({
  name: 'listListenerEvents',
  method: 'get',
  path: '/listeners/:listenerID/events',
  summary: 'List the events of a listener',
  description:
    'Returns what a listener has received and what has become of it, newest first. With `state=dead`: its dead letters.',
  permission: 'listener.read',
  object: ({ params }) => `listener:${params.listenerID}`,
  params: ListenerID,
  query: EventList,
  response: EventPage,

  async handle({ params, query: { state, limit, cursor, preview }, em, tenantID }) {
    const { id: listenerID } = await getListener(em, params.listenerID);
    const where = { listenerID, ...(state && { state }), ...(cursor && { id: { $lt: cursor } }) };
    const rows = await em.find(EventEntity, where, {
      // Ids begin with the time.
      orderBy: { id: 'desc' },
      limit: limit + 1,
      exclude: ['body', 'headers', 'actions', 'meta', 'params', 'path', 'query'],
    });
    const shown = rows.slice(0, limit);
    const nextCursor = rows.length > limit ? (shown.at(-1)?.id ?? null) : null;
    if (preview === 'false') return { events: shown.map((row) => presentEvent(row)), nextCursor };
    const ids = shown.map(({ id }) => id);
    const { rows: starts } = await onEntities(em)<{ id: string; start: Buffer | null }>(READ_STARTS, [
      tenantID,
      textArray(ids),
    ]);
    const startOf = new Map(starts.map(({ id, start }) => [id, start]));
    const events = shown.map((row) => ({ ...presentEvent(row), bodyPreview: previewOf(startOf.get(row.id) ?? null) }));
    return { events, nextCursor };
  },
});

const countEvents = tenantRoute({
  name: 'countListenerEvents',
  method: 'get',
  path: '/listeners/:listenerID/events/counts',
  summary: 'Count the events of a listener',
  description: 'Of the events recorded in a period, how many are in which state. Counted from the events themselves.',
  permission: 'listener.read',
  object: ({ params }) => `listener:${params.listenerID}`,
  params: ListenerID,
  query: CountsQuery,
  response: EventCounts,

  async handle({ params, query: { from, to }, em, tenantID }) {
    const { id: listenerID } = await getListener(em, params.listenerID);
    const values = [tenantID, listenerID, firstIDAt(from), firstIDAt(to)];
    const { rows } = await onEntities(em)<{ state: string; count: number }>(COUNT_EVENTS, values);
    const counts = { pending: 0, done: 0, filtered: 0, duplicate: 0, dead: 0, replaced: 0 };
    for (const { state, count } of rows) if (state in counts) Object.assign(counts, { [state]: count });
    const total = rows.reduce((sum, { count }) => sum + count, 0);
    return { from: from.toISOString(), to: to.toISOString(), total, ...counts };
  },
});

const getEvent = tenantRoute({
  name: 'getListenerEvent',
  method: 'get',
  path: '/listeners/:listenerID/events/:eventID',
  summary: 'Get an event of a listener',
  description:
    'Returns an event with its headers and its body as they were received, and what has become of each action.',
  permission: 'listener.read',
  object: ({ params }) => `listener:${params.listenerID}`,
  params: EventID,
  response: EventAnswer,

  async handle({ params, em }) {
    const found = await findEvent(em, params);
    // Memory for the body as read, as text, and as written into the answer.
    await currentReservation()?.reserve(4 * found.bodyBytes);
    const { id } = found;
    const [row, first] = await Promise.all([
      em.findOneOrFail(EventEntity, { id }, { refresh: true, populate: ['*'] }),
      found.duplicateOf ? em.findOne(EventEntity, { id: found.duplicateOf }) : null,
    ]);
    return { event: presentDetail(row, row.body ?? first?.body ?? null) };
  },
});

const listBufferedEvents = tenantRoute({
  name: 'listBufferedEvents',
  method: 'get',
  path: '/listeners/:listenerID/buffer',
  summary: 'List the events that a listener has saved',
  description: 'Returns the events that actions `save_to_buffer` have saved under a name, newest first.',
  permission: 'listener.read',
  object: ({ params }) => `listener:${params.listenerID}`,
  params: ListenerID,
  query: BufferQuery,
  response: BufferedEvents,
  errors: ['413'],

  async handle({ params, query, em }) {
    const { id: listenerID } = await getListener(em, params.listenerID);
    const { bufferName } = query;
    const where: FilterQuery<ListenerBuffer> = {
      listenerID,
      bufferName,
      $or: [{ expiresAt: null }, { expiresAt: { $gt: new Date() } }],
    };
    const { rows, fields } = await findPage(em, ListenerBuffer, {
      where,
      query,
      large: ['eventData'],
      newestBy: 'receivedAt',
    });
    return {
      events: rows.map(({ id, eventID, seqNo, eventData, eventMeta, receivedAt }) => ({
        ...{ id, eventID, listenerID, bufferName, seqNo, eventData, eventMeta },
        receivedAt: receivedAt.toISOString(),
      })),
      ...fields,
    };
  },
});

export const eventRoutes = [listEvents, countEvents, getEvent, listBufferedEvents];

/** The event of the path without its body. */
export async function findEvent(
  em: EntityManager,
  { listenerID, eventID }: z.output<typeof EventID>,
): Promise<Pick<EventEntity, 'id' | 'state' | 'bodyBytes' | 'duplicateOf'>> {
  await getListener(em, listenerID);
  const fields = ['id', 'state', 'bodyBytes', 'duplicateOf'] as const;
  const event = await em.findOne(EventEntity, { id: eventID, listenerID }, { fields });
  if (!event) throw new AppError('NOT_FOUND', 'Event not found');
  return event;
}

type Shown = Pick<
  EventEntity,
  | 'id'
  | 'listenerID'
  | 'source'
  | 'state'
  | 'attempts'
  | 'bodyBytes'
  | 'error'
  | 'receivedAt'
  | 'readyAt'
  | 'heldBy'
  | 'instanceID'
  | 'duplicateOf'
  | 'replayOf'
  | 'finishedAt'
  | 'expiresAt'
>;

function presentEvent(event: Shown): z.input<typeof ListenerEvent> {
  const { id: eventID, listenerID, source, state, attempts, bodyBytes, error, heldBy = null } = event;
  const about = error && { code: String(error.code), message: String(error.message) };
  return {
    ...{ eventID, listenerID, source, state, attempts, bodyBytes },
    receivedAt: event.receivedAt.toISOString(),
    nextAttemptAt: state === 'pending' && heldBy === null ? event.readyAt.toISOString() : null,
    heldBy,
    error: about ?? null,
    instanceID: event.instanceID ?? null,
    duplicateOf: event.duplicateOf ?? null,
    replayOf: event.replayOf ?? null,
    finishedAt: event.finishedAt?.toISOString() ?? null,
    expiresAt: event.expiresAt?.toISOString() ?? null,
  };
}

function presentDetail(event: EventEntity, stored: Uint8Array | null): z.input<typeof ListenerEventDetail> {
  const { method = null, path = null, query = null, params = null, headers, meta = null, actions } = event;
  const body = stored && Buffer.from(stored);
  const isText = body !== null && isUtf8(body);
  return {
    ...presentEvent(event),
    ...{ method, path, query, params, meta },
    headers: headers ?? [],
    bodyText: isText ? body.toString('utf8') : null,
    bodyBase64: body && !isText ? body.toString('base64') : null,
    actions: ListenerEventDetail.shape.actions.parse(actions ?? {}),
  };
}

/** The beginnings of bodies: a character of UTF-8 has at most four bytes. A duplicate may have the body of the first delivery. */
const READ_STARTS = `
select e.id, substring(coalesce(e.body, f.body) from 1 for ${4 * MAX_PREVIEW}) as start
from listener_event e left join listener_event f on f.id = e.duplicate_of and f.tenant_id = e.tenant_id
where e.tenant_id = $1 and e.id = any($2::uuid[])`;

function previewOf(start: Buffer | null): string | null {
  try {
    // A character that the cut has hit is left out.
    return new TextDecoder('utf-8', { fatal: true }).decode(start ?? undefined, { stream: true }).slice(0, MAX_PREVIEW);
  } catch {
    return null;
  }
}

/** The smallest id that an event of this millisecond can have. */
function firstIDAt(at: Date): string {
  const time = at.getTime().toString(16).padStart(12, '0');
  return `${time.slice(0, 8)}-${time.slice(8)}-0000-0000-000000000000`;
}
