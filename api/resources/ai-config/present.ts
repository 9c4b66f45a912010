import type { z } from 'zod';
import type { AISettings } from '#shared/apps/ai/providers.ts';
import type { KeyRing } from '#shared/core/key-ring.ts';
import { MASK } from '#shared/core/schema/secret.ts';
import { sealedColumns } from '#shared/db/sealed-columns.ts';
import type { AIConfig as AIConfigEntity } from '#shared/entities/tables/ai-config.ts';
import type { AIConfig } from './schemas.ts';

export function presentConfig(
  config: AIConfigEntity | null,
  workspace: AISettings | null,
  secrets: KeyRing,
): z.input<typeof AIConfig> {
  const { maxTokensPerDay = null, maxTokensPerMonth = null, maxCalls = null } = config ?? {};
  const others = { maxTokensPerDay, maxTokensPerMonth, maxCalls, updatedAt: config?.updatedAt.toISOString() ?? null };
  if (config?.provider) {
    const { provider, baseURL = null, model = null, apiKey } = config;
    const isKeyReadable = !apiKey || secrets.canOpen(apiKey, sealedColumns.aiKey.context(config.id));
    return { source: 'tenant', provider, baseURL, model, apiKey: apiKey ? MASK : null, isKeyReadable, ...others };
  }
  const { provider = null, model = null } = workspace ?? {};
  return {
    source: workspace ? 'workspace' : 'none',
    provider,
    baseURL: null,
    model,
    apiKey: null,
    isKeyReadable: true,
    ...others,
  };
}
