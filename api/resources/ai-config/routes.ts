import { z } from 'zod';
import { AIConfig as AIConfigEntity } from '#shared/entities/tables/ai-config.ts';
import { tenantRoute } from '../../context/routes.ts';
import { Message } from '../../http/fields/response-parts.ts';
import { presentConfig } from './present.ts';
import { saveConfig } from './save.ts';
import { AIConfig, AIConfigChange, TenantID } from './schemas.ts';
import { testConfig } from './test-config.ts';
import { readUsage } from './usage.ts';

const ofTenant = { object: ({ params }: { params: { tenantID: string } }) => `tenant:${params.tenantID}` };
const Changed = z.object({ aiConfig: AIConfig, message: Message });

const description =
  'Sets the language model of the tenant, and budgets of its own. Fields that are left out stay as they are. The key is stored encrypted and never shown again; another address needs it again.';

export const aiConfigRoutes = [
  tenantRoute({
    name: 'getAiConfig',
    method: 'get',
    path: '/ai-config',
    summary: 'Get the AI configuration',
    description:
      'Returns the language model that the tenant uses: its own, or that of the deployment if it has none. The key is masked.',
    permission: 'tenant.read',
    ...ofTenant,
    params: TenantID,
    response: z.object({ aiConfig: AIConfig }),

    async handle({ em, tenantID }, { config, secrets }) {
      return { aiConfig: presentConfig(await em.findOne(AIConfigEntity, { tenantID }), config.ai, secrets) };
    },
  }),

  ...(['post', 'patch', 'put'] as const).map((method) =>
    tenantRoute({
      name: { post: 'setAiConfig', patch: 'updateAiConfig', put: 'putAiConfig' }[method],
      ...(method === 'post' ? { method, idempotent: false } : { method }),
      path: '/ai-config',
      summary: 'Set the AI configuration',
      description: method === 'patch' ? description : `${description} The same as \`updateAiConfig\`.`,
      permission: 'tenant.update',
      ...ofTenant,
      params: TenantID,
      body: AIConfigChange,
      hides: ['apiKey'],
      response: Changed,

      async handle({ body, em, tenantID, caller }, { secrets, config }) {
        const saved = await saveConfig(em, { tenantID, caller, secrets }, body);
        return { aiConfig: presentConfig(saved, config.ai, secrets), message: 'AI configuration saved' };
      },
    }),
  ),

  tenantRoute({
    name: 'deleteAiConfig',
    method: 'delete',
    path: '/ai-config',
    summary: 'Delete the AI configuration',
    description:
      "Deletes the tenant's model, key and budgets. The model of the deployment is used then, if it has one.",
    permission: 'tenant.update',
    ...ofTenant,
    params: TenantID,
    response: Changed,

    async handle({ em, tenantID }, { config, secrets }) {
      const found = await em.findOne(AIConfigEntity, { tenantID });
      if (found) await em.remove(found).flush();
      return { aiConfig: presentConfig(null, config.ai, secrets), message: 'AI configuration deleted' };
    },
  }),

  testConfig,
  readUsage,
];
