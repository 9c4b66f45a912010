import type { z } from 'zod';
import { AppError } from '#shared/core/errors.ts';
import { newID } from '#shared/core/ids.ts';
import { inEntityTransaction, onEntities } from '#shared/db/query.ts';
import { MAX_AT_ONCE, PURGE, REPLAY } from '#shared/triggers/listeners/dead-letters.ts';
import { dedupSecondsOf } from '#shared/triggers/listeners/dedup-window.ts';
import { type DeadLetterFilter, redrive, redriveCorrected, redriveOne } from '#shared/triggers/listeners/redrive.ts';
import { tenantRoute } from '../../context/routes.ts';
import { EventID, Purge, Purged, Redrive, Redriven, RedriveOne, Started } from './event-schemas.ts';
import { findEvent } from './events.ts';
import { getListener } from './find.ts';
import { ListenerID } from './schemas.ts';

const redriveEvents = tenantRoute({
  name: 'redriveListenerEvents',
  method: 'post',
  path: '/listeners/:listenerID/events/redrive',
  summary: 'Process dead letters again',
  description: `Gives the dead letters of a listener that match to workers again, the oldest first and at most ${MAX_AT_ONCE.toLocaleString('en')} in one request. Actions that have succeeded are not done again. One whose id another delivery has had that was accepted becomes a duplicate of it.`,
  permission: 'listener.execute',
  object: ({ params }) => `listener:${params.listenerID}`,
  params: ListenerID,
  body: Redrive,
  response: Redriven,
  // A repeated request finds none of the dead letters that are processed already.
  idempotent: false,

  async handle({ params, body: { filter, perSecond = null }, em, tenantID }) {
    const listener = await getListener(em, params.listenerID);
    const { readyAt, duplicates } = await inEntityTransaction(em, () =>
      redrive(onEntities(em), {
        tenantID,
        listenerID: listener.id,
        dedupSeconds: dedupSecondsOf(listener),
        filter: valuesOf(filter),
        perSecond,
      }),
    );
    const lastAt = readyAt.length > 0 ? new Date(Math.max(...readyAt.map((at) => at.getTime()))).toISOString() : null;
    const redriven = readyAt.length - duplicates.size;
    const accepted = `; ${duplicates.size} of them not, because other deliveries with their ids were accepted`;
    const message = `Dead letters are processed again${duplicates.size > 0 ? accepted : ''}`;
    return { redriven, duplicates: duplicates.size, hasMore: readyAt.length === MAX_AT_ONCE, lastAt, message };
  },
});

const redriveEvent = tenantRoute({
  name: 'redriveListenerEvent',
  method: 'post',
  path: '/listeners/:listenerID/events/:eventID/redrive',
  summary: 'Process a dead letter again',
  description:
    'Gives a dead letter to workers again. With another body or other headers, a corrected copy takes its place, and the event itself is `replaced`. Actions that have succeeded are not done again. If another delivery with its id was accepted meanwhile, it becomes a duplicate of that.',
  permission: 'listener.execute',
  object: ({ params }) => `listener:${params.listenerID}`,
  params: EventID,
  body: RedriveOne,
  response: Started,
  errors: ['409'],
  idempotent: 'transaction',

  async handle({ params, body: { bodyText, bodyBase64, headers }, em, tenantID }) {
    const { id, state } = await findEvent(em, params);
    if (state !== 'dead') throw new AppError('CONFLICT', `The event is not a dead letter: it is ${state}`);
    const listener = await getListener(em, params.listenerID);
    const of = { tenantID, listenerID: listener.id, dedupSeconds: dedupSecondsOf(listener) };
    const body = bodyText === undefined ? bodyBase64 : Buffer.from(bodyText).toString('base64');
    const isCorrected = body !== undefined || headers !== undefined;
    const copyID = newID();
    const correction = {
      eventID: id,
      copyID,
      bodyBase64: body ?? null,
      headers: headers ? JSON.stringify(headers) : null,
    };
    const done = isCorrected
      ? await redriveCorrected(onEntities(em), { ...of, ...correction })
      : await redriveOne(onEntities(em), { ...of, eventID: id });
    if (!done) throw new AppError('CONFLICT', 'The event is not a dead letter any more');
    const { duplicateOf } = done;
    if (duplicateOf) {
      const message = 'The event is a duplicate: its sender has repeated the delivery, which was accepted';
      return { eventID: id, replayOf: null, duplicateOf, message };
    }
    const message = 'The event is processed again';
    return isCorrected ? { eventID: copyID, replayOf: id, message } : { eventID: id, replayOf: null, message };
  },
});

const replayEvent = tenantRoute({
  name: 'replayListenerEvent',
  method: 'post',
  path: '/listeners/:listenerID/events/:eventID/replay',
  summary: 'Replay a past event',
  description:
    'Records a finished event once more, with the same body and headers, and processes it with all actions that the listener has now. The copy names it as `replayOf`.',
  status: 201,
  permission: 'listener.execute',
  object: ({ params }) => `listener:${params.listenerID}`,
  params: EventID,
  response: Started,
  errors: ['409'],
  idempotent: 'transaction',

  async handle({ params, em, tenantID }) {
    const { id } = await findEvent(em, params);
    const eventID = newID();
    const { rowCount } = await onEntities(em)(REPLAY, [id, eventID, tenantID, params.listenerID]);
    if (rowCount === 0) throw new AppError('CONFLICT', 'The event is still processed');
    return { eventID, replayOf: id, message: 'The event is processed once more' };
  },
});

const purgeEvents = tenantRoute({
  name: 'purgeListenerEvents',
  method: 'post',
  path: '/listeners/:listenerID/events/purge',
  summary: 'Delete dead letters',
  description: `Deletes the dead letters of a listener that match, the oldest first and at most ${MAX_AT_ONCE.toLocaleString('en')} in one request.`,
  permission: 'listener.update',
  object: ({ params }) => `listener:${params.listenerID}`,
  params: ListenerID,
  body: Purge,
  response: Purged,
  idempotent: false,

  async handle({ params, body: { filter }, em, tenantID }) {
    const { id } = await getListener(em, params.listenerID);
    const { rowCount } = await onEntities(em)(PURGE, [tenantID, id, ...valuesOf(filter)]);
    const purged = rowCount ?? 0;
    return { purged, hasMore: purged === MAX_AT_ONCE, message: 'Dead letters deleted' };
  },
});

export const deadLetterRoutes = [redriveEvents, redriveEvent, replayEvent, purgeEvents];

function valuesOf({
  eventIDs,
  errorCode,
  receivedFrom,
  receivedUntil,
}: z.output<typeof Redrive>['filter']): DeadLetterFilter {
  const ids = eventIDs ? `{${eventIDs.join(',')}}` : null;
  return [ids, errorCode ?? null, receivedFrom?.toISOString() ?? null, receivedUntil?.toISOString() ?? null];
}
