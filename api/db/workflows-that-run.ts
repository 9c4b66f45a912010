import type { Pool } from '#shared/db/pool.ts';

/** The workflows whose graph names a data query of this datasource. An id that a template makes is in no graph. */
export async function findWorkflowsThatRun(
  pool: Pool,
  tenantID: string,
  { datasourceID }: { datasourceID: string },
): Promise<string[]> {
  const { rows } = await pool.query<{ id: string }>(NAMING, [tenantID, datasourceID]);
  return rows.map(({ id }) => id);
}

const NAMING = `
select w.id from workflow w join workflow_version v on v.id = w.version_id and v.tenant_id = w.tenant_id
where w.tenant_id = $1 and exists (
  select from jsonb_array_elements(v.nodes) node
  join data_query q on q.id::text = lower(node->'data'->>'dataQueryID')
  where node->>'type' = 'dataQuery' and q.tenant_id = $1 and q.datasource_id = $2)`;
