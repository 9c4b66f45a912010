import type { JsonObject } from '../../core/json.ts';
import { defineEntity, identified, p, tenantFilter } from '../base.ts';

/** One step of what a listener does with an event. Steps go in the order of `orderIndex`, then of their creation. */
export const ListenerActionSchema = defineEntity({
  name: 'ListenerAction',
  tableName: 'listener_action',
  filters: tenantFilter,
  properties: {
    ...identified,
    tenantID: p.uuid(),
    listenerID: p.uuid(),
    actionType: p.string(),
    actionConfig: p.json().$type<JsonObject>(),
    isEnabled: p.boolean().default(true),
    orderIndex: p.integer().default(0),
  },
});

export class ListenerAction extends ListenerActionSchema.class {}
ListenerActionSchema.setClass(ListenerAction);
