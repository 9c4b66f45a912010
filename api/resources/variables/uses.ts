import type { Pool } from '#shared/db/pool.ts';

interface Use {
  id: string;
  /** Whether the published version uses it, and not only a later draft. */
  isPublished: boolean;
}

/**
 * The workflows whose published or latest version names a variable: in the text of its graph, code included, or as the secret of its
 * completion webhook. A name that code computes is not found.
 */
export async function findUses(pool: Pool, tenantID: string, name: string): Promise<Use[]> {
  const inGraph = `\\mvars\\s*(\\?\\.|\\.|\\[)+\\s*[\\\\"']*${name}\\M`;
  const { rows } = await pool.query<Use>(USES, [tenantID, inGraph, name]);
  return rows;
}

const USES = `
select w.id, bool_or(v.id = w.version_id) as "isPublished"
from workflow w cross join lateral (
  select id, nodes, options from workflow_version where id = w.version_id and tenant_id = w.tenant_id
  union all (
    select id, nodes, options from workflow_version where workflow_id = w.id and tenant_id = w.tenant_id
    order by number desc limit 1
  )
) v
where w.tenant_id = $1 and (v.nodes::text ~ $2 or v.options #>> '{completionWebhook,secret}' = $3)
group by w.id`;
