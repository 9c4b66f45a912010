import type { Pool } from '#shared/db/pool.ts';

type User = 'widget' | 'appPage' | 'dashboard';

/**
 * The assets of the tenant whose config has the id of the file anywhere: properties are free-form, and may name a file by its path, its
 * address, or an address with a part of it encoded.
 */
export async function findFileUsers(
  pool: Pool,
  tenantID: string,
  fileID: string,
): Promise<Record<User, string[]> & { count: number }> {
  const { rows } = await pool.query<{ type: User; id: string }>(NAMING, [tenantID, `%${fileID}%`]);
  const idsOf = (type: User) => rows.filter((row) => row.type === type).map(({ id }) => id);
  return { widget: idsOf('widget'), appPage: idsOf('appPage'), dashboard: idsOf('dashboard'), count: rows.length };
}

const NAMING = `
select 'widget' as type, id from widget where tenant_id = $1 and widget_config::text ilike $2
union all select 'appPage', id from app_page where tenant_id = $1 and app_page_config::text ilike $2
union all select 'dashboard', id from dashboard where tenant_id = $1 and dashboard_config::text ilike $2`;
