import { z } from 'zod';
import { onPool } from '#shared/db/query.ts';
import { type AIBudget, readBudgets, readUsageByDay } from '#shared/tenants/ai-usage.ts';
import { tenantRoute } from '../../context/routes.ts';
import { AIUsage } from './schemas.ts';

const DAYS = 31;

export const readUsage = tenantRoute({
  name: 'getAiUsage',
  method: 'get',
  path: '/ai/usage',
  summary: 'Get the use of language models',
  description:
    'Returns the tokens that the tenant has used of its budgets, and its calls under way. A budget is the lower one of the quota and of what the tenant has set for itself.',
  permission: 'ai.read',
  response: z.object({ usage: AIUsage }),

  async handle({ tenantID }, { pool }) {
    const query = onPool(pool);
    const budgets = await readBudgets(query, tenantID);
    const now = new Date();
    const [year, month, day] = [now.getUTCFullYear(), now.getUTCMonth(), now.getUTCDate()];
    return {
      usage: {
        today: {
          ...useOf(budgets, 'aiTokensPerDay'),
          resetsAt: new Date(Date.UTC(year, month, day + 1)).toISOString(),
        },
        month: { ...useOf(budgets, 'aiTokensPerMonth'), resetsAt: new Date(Date.UTC(year, month + 1)).toISOString() },
        calls: useOf(budgets, 'aiCalls'),
        days: await readUsageByDay(query, tenantID, DAYS),
      },
    };
  },
});

function useOf(budgets: readonly AIBudget[], wanted: AIBudget['quota']): { used: number; max: number } {
  const { used = 0, max = 0 } = budgets.find(({ quota }) => quota === wanted) ?? {};
  return { used, max };
}
