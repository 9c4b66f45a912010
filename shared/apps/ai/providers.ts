import { z } from 'zod';
import { AppError } from '../../core/errors.ts';

/** A language model's provider, its address and the key that is sent there. */
export const AISettings = z.object({
  provider: z.enum(['openai', 'openrouter', 'openai-compatible', 'anthropic', 'google']),
  /** Null: the provider's own address. */
  baseURL: z.string().nullable(),
  model: z.string(),
  /** Null: none is sent. */
  apiKey: z.string().nullable(),
});
export type AISettings = z.output<typeof AISettings>;
export type AIProvider = AISettings['provider'];

interface ProviderDefinition {
  /** The protocol that it speaks. */
  protocol: 'openai' | 'anthropic' | 'google';
  /** Absent: each configuration names its own. */
  baseURL?: string;
}

const definitions: Readonly<Record<AIProvider, ProviderDefinition>> = {
  openai: { protocol: 'openai', baseURL: 'https://api.openai.com/v1' },
  openrouter: { protocol: 'openai', baseURL: 'https://openrouter.ai/api/v1' },
  'openai-compatible': { protocol: 'openai' },
  anthropic: { protocol: 'anthropic', baseURL: 'https://api.anthropic.com/v1' },
  google: { protocol: 'google', baseURL: 'https://generativelanguage.googleapis.com/v1beta' },
};

export const aiProviders = AISettings.shape.provider.options;

export function protocolOf(provider: AIProvider): ProviderDefinition['protocol'] {
  return definitions[provider].protocol;
}

/** The address of a provider's API; undefined if the configuration must name one and does not. */
export function addressOf({ provider, baseURL }: Pick<AISettings, 'provider' | 'baseURL'>): string | undefined {
  return baseURL ?? definitions[provider].baseURL;
}

/** Characters that a key may have, since it is sent in a header. */
const KEY = /^[!-~](?:[ -~]*[!-~])?$/;

/** The first field that is missing or invalid in the settings, with a message; undefined if they can be used. */
export function lackOf(settings: AISettings): { field: 'baseURL' | 'apiKey'; message: string } | undefined {
  const { provider, apiKey } = settings;
  if (addressOf(settings) === undefined)
    return { field: 'baseURL', message: `is required for the provider ${provider}` };
  // Servers that a tenant runs itself often need no key.
  if (apiKey === null && provider !== 'openai-compatible')
    return { field: 'apiKey', message: `is required for the provider ${provider}` };
  if (apiKey !== null && !KEY.test(apiKey))
    return { field: 'apiKey', message: 'may hold only printable ASCII, with no space at its beginning or end' };
  return undefined;
}

export function noModel(): AppError {
  return new AppError(
    'CONFLICT',
    'No language model is configured: set one with PATCH /ai-config, or ask an operator to set one for the deployment',
  );
}
