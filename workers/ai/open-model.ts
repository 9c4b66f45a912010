import type { LanguageModel } from 'ai';
import { type AISettings, addressOf, protocolOf } from '#shared/apps/ai/providers.ts';
import { AppError } from '#shared/core/errors.ts';
import type { StreamingFetch } from '../outbound/stream.ts';
import { fetchExactly, withExactArguments } from './exact-arguments.ts';

/** The model of these settings. Loads the package of its provider with the first call. */
export async function openModel(settings: AISettings, fetch: StreamingFetch): Promise<LanguageModel> {
  return withExactArguments(await openPackage(settings, fetch));
}

async function openPackage(settings: AISettings, fetch: StreamingFetch): Promise<Exclude<LanguageModel, string>> {
  const { provider, model } = settings;
  const baseURL = addressOf(settings);
  if (baseURL === undefined)
    throw new AppError('VALIDATION_ERROR', `baseURL: is required for the provider ${provider}`);
  const apiKey = settings.apiKey ?? '';
  const protocol = protocolOf(provider);
  const plainFetch = fetch as typeof globalThis.fetch;
  const reach = {
    baseURL,
    fetch: protocol === 'anthropic' || protocol === 'google' ? fetchExactly(plainFetch) : plainFetch,
  };
  if (protocol === 'anthropic') {
    const { createAnthropic } = await import('@ai-sdk/anthropic');
    return createAnthropic({ ...reach, apiKey })(model);
  }
  if (protocol === 'google') {
    const { createGoogle } = await import('@ai-sdk/google');
    return createGoogle({ ...reach, apiKey })(model);
  }
  const { createOpenAICompatible } = await import('@ai-sdk/openai-compatible');
  return createOpenAICompatible({ ...reach, name: provider, includeUsage: true, ...(apiKey && { apiKey }) }).chatModel(
    model,
  );
}
