import type { JsonObject } from '../../core/json.ts';
import { defineEntity, p, tenantFilter } from '../base.ts';

/** The circuit breaker of a listener whose attempts fail. Written in SQL by workers; no row: it is closed. */
export const ListenerBreakerSchema = defineEntity({
  name: 'ListenerBreaker',
  tableName: 'listener_breaker',
  filters: tenantFilter,
  properties: {
    listenerID: p.uuid().primary(),
    tenantID: p.uuid(),
    /** Attempts in a row that have failed. */
    failures: p.integer(),
    /** Probes in a row that have failed. */
    opens: p.integer(),
    openedAt: p.datetime().nullable(),
    probeAt: p.datetime().nullable(),
    /** The event that is tried as a probe. */
    probeID: p.uuid().nullable(),
    probeUntil: p.datetime().nullable(),
    error: p.json().$type<JsonObject>().nullable(),
  },
});

export class ListenerBreaker extends ListenerBreakerSchema.class {}
ListenerBreakerSchema.setClass(ListenerBreaker);
