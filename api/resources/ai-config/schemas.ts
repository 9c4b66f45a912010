import { z } from 'zod';
import { aiProviders } from '#shared/apps/ai/providers.ts';
import { idOf } from '#shared/core/schema/reference.ts';
import { Message } from '../../http/fields/response-parts.ts';
import { exampleAIConfig, exampleAIConfigChange, exampleAITest, exampleAIUsage } from './examples.ts';

export const TenantID = z.object({ tenantID: idOf('tenant') });

const Provider = z.enum(aiProviders);
const Limit = z.int().min(0).max(2_000_000_000).nullable();

const settings = {
  provider: Provider.nullish().describe('Null: back to the model of the deployment, without a key of the tenant'),
  baseURL: z
    .url({ protocol: /^https?$/, error: 'must be a URL that begins with https:// or http://' })
    .max(2_000)
    .refine(isPlain, 'must have neither a user nor a password, a query or a fragment: the key is `apiKey`')
    .transform((url) => url.replace(/\/+$/, ''))
    .nullish()
    .describe("Null: the provider's own address. Another address needs the key again"),
  model: z.string().trim().min(1).max(255).nullish(),
  apiKey: z.string().min(1).max(4_000).nullish().describe('The mask stands for the stored key'),
};

/** Whether an address has no credentials, query or fragment: paths are appended to it, and unlike the key, it is shown. */
function isPlain(text: string): boolean {
  const url = URL.parse(text);
  return url === null || url.username + url.password + url.search + url.hash === '';
}

/** A change of the configuration: absent fields stay as they are, null clears a field. */
export const AIConfigChange = z
  .object({
    ...settings,
    maxTokensPerDay: Limit.optional().describe('Null: as far as the quota goes'),
    maxTokensPerMonth: Limit.optional().describe('Null: as far as the quota goes'),
    maxCalls: Limit.optional().describe('Calls at once. Null: as far as the quota goes'),
  })
  .meta({ id: 'AIConfigChange', examples: [exampleAIConfigChange] });
export type AIConfigChange = z.output<typeof AIConfigChange>;

export const AIConfigTest = z
  .object(settings)
  .optional()
  .transform((body) => body ?? {})
  .meta({ id: 'AIConfigTest', examples: [{ model: exampleAIConfig.model }] });
export type AIConfigTest = z.output<typeof AIConfigTest>;

export const AIConfig = z
  .object({
    source: z
      .enum(['tenant', 'workspace', 'none'])
      .describe('Whose model is used: `workspace` is the deployment, whose address is not shown'),
    provider: Provider.nullable(),
    baseURL: z.string().nullable(),
    model: z.string().nullable(),
    apiKey: z.string().nullable().describe('Eight mask characters for a stored key'),
    isKeyReadable: z
      .boolean()
      .describe('False: the key was sealed with a key of the deployment that is not here. Give it again'),
    maxTokensPerDay: Limit,
    maxTokensPerMonth: Limit,
    maxCalls: Limit,
    updatedAt: z.iso.datetime().nullable(),
  })
  .meta({ id: 'AIConfig', examples: [exampleAIConfig] });

export const AITestResult = z
  .object({ message: Message, model: z.string(), inputTokens: z.int(), outputTokens: z.int() })
  .meta({ id: 'AITestResult', examples: [exampleAITest] });

const Use = z.object({ used: z.int().describe('With what is reserved for calls under way'), max: z.int() });
const Period = Use.extend({ resetsAt: z.iso.datetime() }).meta({
  id: 'AITokensOfPeriod',
  description: 'Days and months are those of UTC',
});

export const AIUsage = z
  .object({
    today: Period,
    month: Period,
    calls: Use.meta({ id: 'AICallsAtOnce' }),
    days: z
      .array(
        z
          .object({ day: z.iso.date(), calls: z.int(), inputTokens: z.int(), outputTokens: z.int() })
          .meta({ id: 'AIUsageOfDay' }),
      )
      .describe('Of the last 31 days, newest first; days without calls are left out'),
  })
  .meta({ id: 'AIUsage', examples: [exampleAIUsage] });
