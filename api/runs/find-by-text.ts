import type { Query } from '#shared/db/query.ts';

/** Runs whose ids are compared with the end of an id, and runs of one tag. */
const MAX = { compared: 5_000, tagged: 500 };

/** The ids of runs that a text names: by an id, by the end of an id as lists show it, or by a tag. */
export async function findRunsByText(query: Query, tenantID: string, text: string): Promise<string[]> {
  const lower = text.toLowerCase();
  const id = wholeID.test(lower) ? lower : null;
  const end = !id && endOfID.test(lower) ? lower : null;
  const { rows } = await query<{ id: string }>(FIND, [tenantID, id, end, text]);
  return rows.map((row) => row.id);
}

const wholeID = /^[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}$/;
const endOfID = /^[\da-f]{6,12}$/;

// A parameter that is null matches no run.
const FIND = `
select id from workflow_instance where tenant_id = $1::uuid and id = $2::uuid
union
select id from (
  select id from workflow_instance where tenant_id = $1::uuid and $3::text is not null order by created_at desc, id desc limit ${MAX.compared}
) newest where right(id::text, length($3::text)) = $3::text
union
(select instance_id from run_tag where tenant_id = $1::uuid and tag = $4 order by instance_id desc limit ${MAX.tagged})`;
