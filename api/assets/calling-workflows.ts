import type { Pool } from '#shared/db/pool.ts';
import { fieldsNaming, type NamedResource } from '#shared/workflow/nodes/named-assets.ts';

/** The workflows whose graph names a data query of this datasource. Ids that come from templates are not found. */
export async function findWorkflowsThatRun(
  pool: Pool,
  tenantID: string,
  { datasourceID }: { datasourceID: string },
): Promise<string[]> {
  const { rows } = await pool.query<{ id: string }>(NAMING, [tenantID, datasourceID, pathsTo('dataquery')]);
  return rows.map(({ id }) => id);
}

/** The workflows that call a workflow: a node of their published version names it, or it handles their failures. */
export async function findWorkflowsThatCall(
  pool: Pool,
  tenantID: string,
  { workflowID }: { workflowID: string },
): Promise<string[]> {
  const { rows } = await pool.query<{ id: string }>(CALLING, [tenantID, workflowID, pathsTo('workflow')]);
  return rows.map(({ id }) => id);
}

/**
 * Writes the fields that name assets of a resource as JSON paths into the nodes of a version: `$[*] ? (@.type ==
 * "…")."data"."dataQueryID"`.
 */
function pathsTo(resource: NamedResource): string[] {
  return fieldsNaming(resource).map(({ kind, keys }) => {
    const steps = ['data', ...keys].map((key) => (key === '*' ? '[*]' : `.${JSON.stringify(key)}`));
    return `$[*] ? (@.type == ${JSON.stringify(kind)})${steps.join('')}`;
  });
}

const NAMING = `
select w.id from workflow w join workflow_version v on v.id = w.version_id and v.tenant_id = w.tenant_id
where w.tenant_id = $1 and exists (
  select from unnest($3::text[]) path, jsonb_path_query(v.nodes, path::jsonpath) named
  join data_query q on q.id::text = lower(named #>> '{}')
  where q.tenant_id = $1 and q.datasource_id = $2)`;

const CALLING = `
select w.id from workflow w join workflow_version v on v.id = w.version_id and v.tenant_id = w.tenant_id
where w.tenant_id = $1 and w.id <> $2::uuid and (
  lower(v.options #>> '{onFailure,workflowID}') = $2::text
  or exists (select from unnest($3::text[]) path, jsonb_path_query(v.nodes, path::jsonpath) named where lower(named #>> '{}') = $2::text))`;
