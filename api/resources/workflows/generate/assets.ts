import type { Pool } from '#shared/db/pool.ts';
import type { EntityManager } from '#shared/entities/orm.ts';
import { DataQuery } from '#shared/entities/tables/data-query.ts';
import { TenantVariable } from '#shared/entities/tables/tenant-variable.ts';
import { Workflow } from '#shared/entities/tables/workflow.ts';
import type { TenantInput } from '../../../http/route/input.ts';

type AssetRequest = Pick<TenantInput<never, never, never>, 'em' | 'visible' | 'holds'> & {
  em: EntityManager;
  pool: Pool;
};

const MAX_ASSETS = 150;

/** One line for each asset that a graph of the caller may name: the newest ones of each kind. */
export async function describeAssets({ em, pool, visible, holds }: AssetRequest): Promise<string> {
  const newest = { orderBy: { createdAt: 'desc' }, limit: MAX_ASSETS } as const;
  const queries = await em.find(
    DataQuery,
    { ...(await visible('dataquery.execute')), isDisabled: false },
    { ...newest, fields: ['dataQueryTitle', 'datasourceType'] },
  );
  const { rows } = await pool.query<{ id: string; inputs: string | null }>(INPUTS, [queries.map(({ id }) => id)]);
  const inputs = new Map(rows.map(({ id, inputs }) => [id, inputs]));
  const workflows = await em.find(Workflow, await visible('workflow.execute'), { ...newest, fields: ['title'] });
  const variables = (await holds('variable.use'))
    ? await em.find(TenantVariable, {}, { ...newest, fields: ['name', 'secret'] })
    : [];
  return [
    ...queries.map((query) => {
      const { id, dataQueryTitle, datasourceType } = query;
      return `query ${id} ${datasourceType} ${JSON.stringify(dataQueryTitle)} inputs ${inputs.get(id) ?? 'none'}`;
    }),
    ...workflows.map(({ id, title }) => `workflow ${id} ${JSON.stringify(title)}`),
    ...variables.map(({ name, secret }) => `variable ${name}${secret === null ? '' : ' (secret)'}`),
  ].join('\n');
}

/** The ids come from rows that were read with the filter of the tenant, so this statement needs none. */
const INPUTS = `
select id, left((data_query_options->'inputDefinitions')::text, 300) as inputs from data_query where id = any($1::uuid[])`;
