import type { Pool } from '#shared/db/pool.ts';

/** The datasources of the tenant whose options name this `filePath`, at any depth. */
export async function findDatasourcesOfFile(pool: Pool, tenantID: string, filePath: string): Promise<string[]> {
  const naming = `$.**.filePath ? (@ like_regex ${JSON.stringify(`^${filePath}$`)} flag "i")`;
  const { rows } = await pool.query<{ id: string }>(NAMING, [tenantID, naming]);
  return rows.map(({ id }) => id);
}

const NAMING = `
select id from datasource where tenant_id = $1 and jsonb_path_exists(datasource_options, $2::jsonpath)`;
