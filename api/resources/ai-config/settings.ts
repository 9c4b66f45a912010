import { z } from 'zod';
import { AISettings, aiProviders, lackOf } from '#shared/apps/ai/providers.ts';
import type { KeyRing } from '#shared/core/key-ring.ts';
import { invalidField } from '#shared/core/schema/issues.ts';
import { destination, keepMasked, MASK, refuseMoved, secret, UNREADABLE } from '#shared/core/schema/secret.ts';
import { sealedColumns } from '#shared/db/sealed-columns.ts';
import type { AIConfig } from '#shared/entities/tables/ai-config.ts';
import type { AIConfigTest } from './schemas.ts';

/** Marks the fields that are secret, and those that say where the secret is sent. */
const Fields = z.object({
  provider: destination(z.enum(aiProviders)),
  baseURL: destination(z.string()).nullable(),
  model: z.string().nullable(),
  apiKey: secret(z.string()).nullable(),
});

/** The stored settings, with the key in clear text; `UNREADABLE` in its place if no key of the deployment opens it. */
export function openSettings(secrets: KeyRing, config: AIConfig | null): AISettings | null {
  if (!config?.provider || !config.model) return null;
  const { id, provider, model, baseURL = null, apiKey } = config;
  const context = sealedColumns.aiKey.context(id);
  return { provider, model, baseURL, apiKey: apiKey ? (secrets.tryOpen(apiKey, context) ?? UNREADABLE) : null };
}

/** Throws if the key that is stored cannot be opened. */
export function requireReadableKey(secrets: KeyRing, config: AIConfig | null): void {
  if (config?.apiKey)
    secrets.open(config.apiKey, sealedColumns.aiKey.context(config.id), 'The key of the language model');
}

/** The settings after a change; null stands for those of the deployment. A stored key is not sent to another address. */
export function changeSettings(stored: AISettings | null, change: AIConfigTest): AISettings | null {
  if (change.provider === null) return null;
  const isTouched = [change.provider, change.baseURL, change.model, change.apiKey].some((field) => field !== undefined);
  if (!isTouched) return stored;
  const given = givenOf(stored, change);
  const next = keepMasked(Fields, given, { ...stored });
  refuseMoved(Fields, { given, next, stored: { ...stored } });
  if (typeof next.model !== 'string') throw invalidField('model', 'is required');
  const settings = AISettings.parse(next);
  const lack = lackOf(settings);
  if (lack) throw invalidField(lack.field, lack.message);
  return settings;
}

/** Completes a change as if the client had sent all settings, with the mask in place of the stored key. */
function givenOf(stored: AISettings | null, { provider, baseURL, model, apiKey }: AIConfigTest) {
  const isOther = provider !== undefined && provider !== null && provider !== stored?.provider;
  const storedKey = stored?.apiKey ? MASK : null;
  return {
    provider: provider ?? stored?.provider ?? 'openai',
    baseURL: baseURL === undefined && !isOther ? (stored?.baseURL ?? null) : (baseURL ?? null),
    model: model === undefined ? (stored?.model ?? null) : model,
    apiKey: apiKey === undefined ? storedKey : apiKey,
  };
}
