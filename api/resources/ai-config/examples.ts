import { MASK } from '#shared/core/schema/secret.ts';

const limits = { maxTokensPerDay: 200_000, maxTokensPerMonth: null, maxCalls: 4 };
const model = { provider: 'anthropic', baseURL: null, model: 'claude-sonnet-5' } as const;

export const exampleAIConfigChange = { ...model, apiKey: 'sk-ant-…', ...limits };

export const exampleAIConfig = {
  source: 'tenant',
  ...model,
  apiKey: MASK,
  isKeyReadable: true,
  ...limits,
  updatedAt: '2026-03-05T14:05:12.480Z',
} as const;

export const exampleAITest = { message: 'The model answers', model: model.model, inputTokens: 24, outputTokens: 3 };

export const exampleAIUsage = {
  today: { used: 12_400, max: 200_000, resetsAt: '2026-03-06T00:00:00.000Z' },
  month: { used: 84_100, max: 30_000_000, resetsAt: '2026-04-01T00:00:00.000Z' },
  calls: { used: 1, max: 4 },
  days: [{ day: '2026-03-05', calls: 9, inputTokens: 10_100, outputTokens: 2_300 }],
};
