import type { JsonObject } from '../../core/json.ts';
import { defineEntity, owned, p, tenantFilter } from '../base.ts';

export type ListenerStatus = 'inactive' | 'active' | 'error';

/** A source of events: what arrives there goes through its actions. Credentials are in its datasource. */
export const ListenerSchema = defineEntity({
  name: 'Listener',
  tableName: 'listener',
  filters: tenantFilter,
  properties: {
    ...owned,
    listenerTitle: p.string(),
    listenerDescription: p.text().nullable(),
    listenerType: p.string(),
    datasourceID: p.uuid(),
    listenerConfig: p.json().$type<JsonObject>(),
    status: p.string().$type<ListenerStatus>().default('inactive'),
    lastError: p.text().nullable(),
    /** Written in SQL about once a second, so an entity that was read before may have an older value. */
    lastEventAt: p.datetime().nullable(),
    eventCount: p.bigint('number').default(0),
    /** The pattern for the last part of the URL of a webhook, unique in the tenant by its shape. */
    endpointPath: p.string().nullable(),
    endpointShape: p.string().nullable(),
  },
});

export class Listener extends ListenerSchema.class {}
ListenerSchema.setClass(Listener);
