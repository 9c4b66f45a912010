import { noModel } from '#shared/apps/ai/providers.ts';
import { UNREADABLE } from '#shared/core/schema/secret.ts';
import { AIConfig } from '#shared/entities/tables/ai-config.ts';
import { aiCalls } from '#shared/messaging/queues/ai-calls.ts';
import { tenantRoute } from '../../context/routes.ts';
import { AIConfigTest, AITestResult, TenantID } from './schemas.ts';
import { changeSettings, openSettings, requireReadableKey } from './settings.ts';

export const testConfig = tenantRoute({
  name: 'testAiConfig',
  method: 'post',
  path: '/ai-config/test',
  summary: 'Test the AI configuration',
  description:
    'A worker asks the model for one word. Fields in the body stand in place of the stored ones, and nothing is stored; with `provider: null` the model of the deployment is asked. The tokens count into the budget.',
  permission: 'tenant.update',
  object: ({ params }) => `tenant:${params.tenantID}`,
  params: TenantID,
  body: AIConfigTest,
  hides: ['apiKey'],
  response: AITestResult,
  idempotent: false,
  errors: ['409', '429', '502', '504'],

  async handle({ body, em, tenantID, caller, signal }, { secrets, config, messaging: { producer } }) {
    const found = await em.findOne(AIConfig, { tenantID });
    const stored = openSettings(secrets, found);
    // Without settings a worker uses the stored ones, so those of the deployment are sent with the request.
    const settings = changeSettings(stored, body) ?? config.ai;
    if (!settings) throw noModel();
    if (settings.apiKey === UNREADABLE) requireReadableKey(secrets, found);
    const payload = { kind: 'test', tenantID, caller, settings } as const;
    const { model, inputTokens, outputTokens } = await producer.request(aiCalls, payload, {
      signal,
      timeoutMs: TEST_MS,
      limitKeys: { tenant: tenantID },
    });
    return { message: 'The model answers', model, inputTokens, outputTokens };
  },
});

const TEST_MS = 30_000;
