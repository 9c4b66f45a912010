import type { JsonObject } from '../../core/json.ts';
import { defineEntity, p, tenantFilter } from '../base.ts';

/** An event that an action has saved. Written in SQL by workers. */
export const ListenerBufferSchema = defineEntity({
  name: 'ListenerBuffer',
  tableName: 'listener_buffer',
  filters: tenantFilter,
  properties: {
    id: p.uuid().primary(),
    tenantID: p.uuid(),
    listenerID: p.uuid(),
    eventID: p.uuid(),
    bufferName: p.string(),
    seqNo: p.bigint('number'),
    eventData: p.json().$type<JsonObject>(),
    eventMeta: p.json().$type<JsonObject>(),
    bytes: p.integer(),
    receivedAt: p.datetime(),
    expiresAt: p.datetime().nullable(),
  },
});

export class ListenerBuffer extends ListenerBufferSchema.class {}
ListenerBufferSchema.setClass(ListenerBuffer);
