import { z } from 'zod';
import { secret } from '../../secret.ts';
import { definePreset, fieldsOf, id, limitOf, type PresetCall } from './define-preset.ts';

const page = { limit: 'limit', starting_after: 'startingAfter', expand: 'expand' };

/** The paths of Stripe are regular: what differs is which of the four each thing has. */
function calls(
  path: string,
  operations: readonly ('list' | 'retrieve' | 'create' | 'update')[],
): Record<string, PresetCall> {
  const all: Record<string, PresetCall> = {
    list: { method: 'GET', path, params: page, items: 'data' },
    retrieve: { method: 'GET', path: `${path}/{resourceId}`, params: { expand: 'expand' } },
    create: { method: 'POST', path, body: 'params' },
    update: { method: 'POST', path: `${path}/{resourceId}`, body: 'params' },
  };
  return Object.fromEntries(operations.flatMap((name) => (all[name] ? [[name, all[name]]] : [])));
}

function named(resource: string, all: Record<string, PresetCall>): Record<string, PresetCall> {
  return Object.fromEntries(Object.entries(all).map(([operation, call]) => [`${resource}.${operation}`, call]));
}

const every = ['list', 'retrieve', 'create', 'update'] as const;

export const stripe = definePreset({
  type: 'stripe',
  label: 'Stripe',
  options: z.object({
    secretKey: secret(z.string().max(500)).meta({ title: 'Secret key' }),
    apiVersion: z.string().max(50).default('').meta({ title: 'API version' }),
  }),
  query: z.object({
    resource: z.enum([
      'customers',
      'charges',
      'paymentIntents',
      'invoices',
      'subscriptions',
      'products',
      'prices',
      'refunds',
      'balanceTransactions',
      'payouts',
    ]),
    operation: z.enum(every),
    resourceId: id,
    params: fieldsOf,
    limit: limitOf(100),
    startingAfter: id,
    expand: z.array(z.string().max(200)).max(20).default([]),
  }),
  defaults: { options: { secretKey: '' }, query: { resource: 'customers', operation: 'list' } },
  preset: {
    baseUrl: 'https://api.stripe.com/v1',
    auth: { as: 'bearer', token: 'secretKey' },
    optionHeaders: { 'stripe-version': 'apiVersion' },
    bodyFormat: 'form',
    probe: '/balance',
    calls: {
      ...named('customers', calls('/customers', every)),
      ...named('charges', calls('/charges', every)),
      ...named('paymentIntents', calls('/payment_intents', every)),
      ...named('invoices', calls('/invoices', every)),
      ...named('subscriptions', calls('/subscriptions', every)),
      ...named('products', calls('/products', every)),
      ...named('prices', calls('/prices', every)),
      ...named('refunds', calls('/refunds', every)),
      ...named('balanceTransactions', calls('/balance_transactions', ['list', 'retrieve'])),
      ...named('payouts', calls('/payouts', every)),
    },
  },
});
