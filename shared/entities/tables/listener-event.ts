import type { JsonObject } from '../../core/json.ts';
import type { DeferredBy, EventState } from '../../triggers/listeners/event-states.ts';
import { defineEntity, p, tenantFilter } from '../base.ts';

/** A delivery, or an event of another kind of listener. Written in SQL by the recorder and by workers; handlers read it here. */
export const ListenerEventSchema = defineEntity({
  name: 'ListenerEvent',
  tableName: 'listener_event',
  filters: tenantFilter,
  properties: {
    id: p.uuid().primary(),
    tenantID: p.uuid(),
    listenerID: p.uuid(),
    source: p.string(),
    receivedAt: p.datetime(),
    method: p.string().nullable(),
    path: p.text().nullable(),
    query: p.text().nullable(),
    params: p.json().$type<JsonObject>().nullable(),
    /** As they were sent, without credentials. */
    headers: p.json().$type<[string, string][]>().nullable(),
    /** Null for a duplicate with the body of the first delivery. */
    body: p.blob().nullable(),
    bodyBytes: p.integer(),
    meta: p.json().$type<JsonObject>().nullable(),
    duplicateOf: p.uuid().nullable(),
    state: p.string().$type<EventState>(),
    attempts: p.integer(),
    readyAt: p.datetime(),
    heldBy: p.string().$type<DeferredBy>().nullable(),
    instanceID: p.uuid().nullable(),
    error: p.json().$type<JsonObject>().nullable(),
    /** The outcome of each action, by the action's id. */
    actions: p.json().$type<JsonObject>().nullable(),
    replayOf: p.uuid().nullable(),
    finishedAt: p.datetime().nullable(),
    expiresAt: p.datetime().nullable(),
  },
});

export class ListenerEvent extends ListenerEventSchema.class {}
ListenerEventSchema.setClass(ListenerEvent);
