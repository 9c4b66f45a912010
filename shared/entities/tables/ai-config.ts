import type { AIProvider } from '../../apps/ai/providers.ts';
import { defineEntity, identified, p, tenantFilter } from '../base.ts';

/** The language model of a tenant, and its own budgets; at most one row of each tenant. */
export const AIConfigSchema = defineEntity({
  name: 'AIConfig',
  tableName: 'ai_config',
  filters: tenantFilter,
  properties: {
    ...identified,
    tenantID: p.uuid(),
    creatorID: p.uuid(),
    createdByApiKeyID: p.uuid().nullable(),
    /** Null: the deployment's model is used. */
    provider: p.string().$type<AIProvider>().nullable(),
    baseURL: p.text().nullable(),
    model: p.string().nullable(),
    /** Sealed, with the context in `sealedColumns`. */
    apiKey: p.text().nullable(),
    /** The tenant's own limits. Null: only the quota limits. */
    maxTokensPerDay: p.integer().nullable(),
    maxTokensPerMonth: p.integer().nullable(),
    maxCalls: p.integer().nullable(),
  },
});

export class AIConfig extends AIConfigSchema.class {}
AIConfigSchema.setClass(AIConfig);
