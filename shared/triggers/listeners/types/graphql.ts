import { z } from 'zod';
import { JsonObject } from '../../../core/json.ts';
import { orderBy } from '../order-key.ts';
import { defineListener } from './define-listener.ts';

/** Results of a subscription. */
export const graphql = defineListener({
  type: 'graphql',
  label: 'GraphQL subscription',
  hasEndpoint: false,
  config: z.object({
    orderBy,
    subscription: z
      .string()
      .min(1)
      .max(100_000)
      .meta({ title: 'Subscription', description: 'Such as subscription { orderCreated { id } }' }),
    variables: z
      .union([JsonObject, z.string().max(100_000)])
      .default('')
      .refine(isObject, 'expected an object as JSON')
      .meta({
        title: 'Variables',
        contentMediaType: 'application/json',
        description: 'Values of the variables as JSON, such as {"id": 1}',
      }),
    operationName: z.string().max(200).optional().meta({
      title: 'Operation name',
      description: 'Which operation of the text is meant, if it has several',
    }),
  }),
  defaults: { subscription: 'subscription { events }', variables: '{}' },
});

function isObject(value: unknown): boolean {
  if (typeof value !== 'string' || value.trim() === '') return true;
  try {
    const parsed: unknown = JSON.parse(value);
    return typeof parsed === 'object' && parsed !== null && !Array.isArray(parsed);
  } catch {
    return false;
  }
}
