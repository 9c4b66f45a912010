import type { JsonObject } from '../../core/json.ts';
import { methodOf } from './endpoint-conflicts.ts';

/** A listener as it is stored, with its actions in their order and the sealed options of its datasource. */
export interface ListenerRow {
  id: string;
  tenantID: string;
  type: string;
  status: 'inactive' | 'active' | 'error';
  config: JsonObject;
  endpointPath: string | null;
  creatorID: string;
  createdByApiKeyID: string | null;
  datasourceID: string;
  datasourceType: string;
  datasourceOptions: JsonObject;
  /** The enabled actions. */
  actions: { id: string; actionType: string; actionConfig: JsonObject }[];
}

/** Finds the tenant of each lookup, which names a tenant or a listener, and the version of that tenant's listeners. */
export const LISTENER_VERSIONS = `
select q.n::int as n, t.id as "tenantID", t.listeners_version as version
from unnest($1::uuid[], $2::uuid[]) with ordinality as q(tenant_id, listener_id, n)
left join listener l on l.id = q.listener_id
join tenant t on t.id = coalesce(q.tenant_id, l.tenant_id) and t.deleting_at is null`;

export const ENDPOINTS = `
select l.id, l.endpoint_path as path, ${methodOf('d')} as method from listener l join datasource d on d.id = l.datasource_id
where l.tenant_id = $1 and l.status <> 'inactive' and l.endpoint_shape is not null order by l.id`;

export const READ_LISTENER = `
select l.id, l.tenant_id as "tenantID", l.listener_type as type, l.status, l.listener_config as config,
  l.endpoint_path as "endpointPath", l.creator_id as "creatorID", l.created_by_api_key_id as "createdByApiKeyID",
  d.id as "datasourceID", d.datasource_type as "datasourceType", d.datasource_options as "datasourceOptions",
  coalesce((
    select json_agg(json_build_object('id', a.id, 'actionType', a.action_type, 'actionConfig', a.action_config)
      order by a.order_index, a.created_at, a.id)
    from listener_action a where a.listener_id = l.id and a.is_enabled), '[]') as actions
from listener l join datasource d on d.id = l.datasource_id
where l.id = $1 and l.tenant_id = $2`;
