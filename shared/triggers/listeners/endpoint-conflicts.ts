import type { Query } from '../../db/query.ts';
import { shapeOf } from './endpoint-path.ts';

interface Wanted {
  tenantID: string;
  path: string;
  /** The datasource of the listener, which says the methods. */
  datasourceID: string;
  /** The listener itself, if it is stored already. */
  listenerID: string | null;
}

/** The path of another listener of the tenant that takes a request which this one would take; undefined if there is none. */
export async function findEndpointConflict(
  query: Query,
  { tenantID, path, datasourceID, listenerID }: Wanted,
): Promise<string | undefined> {
  // Two requests with one path are checked one after the other.
  await query('select pg_advisory_xact_lock(hashtextextended($1, 0))', [`listener.endpoint.${tenantID}`]);
  const values = [tenantID, shapeOf(path), datasourceID, listenerID];
  const { rows } = await query<{ path: string }>(CONFLICT, values);
  return rows[0]?.path;
}

/** The method that a datasource allows. */
export const methodOf = (datasource: string) =>
  `coalesce(${datasource}.datasource_options ->> 'allowedMethods', 'POST')`;

const CONFLICT = `
select l.endpoint_path as path from listener l join datasource d on d.id = l.datasource_id,
  (select ${methodOf('own')} as method from datasource own where own.id = $3::uuid and own.tenant_id = $1::uuid) as asked
where l.tenant_id = $1::uuid and l.endpoint_shape = $2 and ($4::uuid is null or l.id <> $4::uuid)
  and (asked.method = ${methodOf('d')} or 'ANY' in (asked.method, ${methodOf('d')}))
order by l.id limit 1`;
