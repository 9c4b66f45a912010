import { type AIProvider, type AISettings, lackOf, noModel } from '#shared/apps/ai/providers.ts';
import { AppError } from '#shared/core/errors.ts';
import type { KeyRing } from '#shared/core/key-ring.ts';
import type { Pool } from '#shared/db/pool.ts';
import { sealedColumns } from '#shared/db/sealed-columns.ts';
import { ownRead } from '#shared/db/unavailable-store.ts';

interface Needs {
  pool: Pool;
  secrets: KeyRing;
  /** Settings of the deployment, for tenants without a model of their own. */
  workspace: AISettings | null;
}

interface Row {
  id: string;
  provider: AIProvider | null;
  baseURL: string | null;
  model: string;
  apiKey: string | null;
}

/**
 * Reads the settings of a tenant, with the key in clear; those of the deployment if it has none. `wanted` is another model of the
 * tenant's own provider. It cannot replace the model of the deployment, which pays for that one.
 */
export async function readSettings(
  { pool, secrets, workspace }: Needs,
  tenantID: string,
  wanted?: string,
): Promise<AISettings> {
  const { rows } = await ownRead(() => pool.query<Row>(READ, [tenantID]));
  const [row] = rows;
  if (row?.provider) {
    const { id, provider, baseURL, apiKey } = row;
    const model = wanted ?? row.model;
    const key = apiKey && secrets.open(apiKey, sealedColumns.aiKey.context(id), 'The key of the language model');
    return checked({ provider, baseURL, model, apiKey: key });
  }
  if (workspace && wanted !== undefined && wanted !== workspace.model)
    throw new AppError('VALIDATION_ERROR', 'model: can be chosen only by tenants with a configuration of their own');
  if (workspace) return checked(workspace);
  throw noModel();
}

const READ = `
select id, provider, base_url as "baseURL", model, api_key as "apiKey" from ai_config where tenant_id = $1`;

function checked(settings: AISettings): AISettings {
  const lack = lackOf(settings);
  if (lack) throw new AppError('VALIDATION_ERROR', `${lack.field}: ${lack.message}`);
  return settings;
}
