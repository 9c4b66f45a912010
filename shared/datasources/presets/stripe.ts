import { z } from 'zod';
import { secret } from '../../secret.ts';
import { definePreset, fieldsOf, id, named, type PresetCall, type PresetPaging, wanted } from './define-preset.ts';

const size = { wanted: 'limit', size: 'limit', maxPageSize: 100 } as const;
const paging: PresetPaging = {
  ...size,
  by: { type: 'cursor', cursorParam: 'starting_after', cursorPath: 'data.-1.id', morePath: 'has_more' },
};
const searchPaging: PresetPaging = {
  ...size,
  by: { type: 'cursor', cursorParam: 'page', cursorPath: 'next_page', morePath: 'has_more' },
};

const operations = [
  'list',
  'retrieve',
  'create',
  'update',
  'search',
  'delete',
  'cancel',
  'capture',
  'confirm',
  'finalize',
  'pay',
  'send',
  'void',
] as const;
type Operation = (typeof operations)[number];

/** Stripe's paths are regular: resources differ only in which of these calls they have. */
function calls(path: string, own: readonly Operation[]): Record<string, PresetCall> {
  const one = `${path}/{resourceId}`;
  const step = (name: string): PresetCall => ({ method: 'POST', path: `${one}/${name}`, body: 'params' });
  const all: Record<Operation, PresetCall> = {
    list: {
      method: 'GET',
      path,
      params: { starting_after: 'startingAfter', expand: 'expand' },
      filters: 'params',
      items: 'data',
      paging,
    },
    retrieve: { method: 'GET', path: one, params: { expand: 'expand' } },
    create: { method: 'POST', path, body: 'params' },
    update: { method: 'POST', path: one, body: 'params' },
    search: {
      method: 'GET',
      path: `${path}/search`,
      params: { query: 'searchQuery', expand: 'expand' },
      needs: ['searchQuery'],
      items: 'data',
      paging: searchPaging,
    },
    delete: { method: 'DELETE', path: one },
    cancel: step('cancel'),
    capture: step('capture'),
    confirm: step('confirm'),
    finalize: step('finalize'),
    pay: step('pay'),
    send: step('send'),
    void: step('void'),
  };
  return Object.fromEntries(own.map((name) => [name, all[name]]));
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
      'balance',
    ]),
    operation: z.enum(operations),
    resourceId: id,
    /** Parameters in Stripe's own names; for a list its filters. */
    params: fieldsOf,
    limit: wanted,
    startingAfter: id,
    searchQuery: z.string().max(2_000).default(''),
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
      ...named('customers', calls('/customers', [...every, 'search', 'delete'])),
      ...named('charges', calls('/charges', [...every, 'search', 'capture'])),
      ...named('paymentIntents', calls('/payment_intents', [...every, 'search', 'confirm', 'capture', 'cancel'])),
      ...named('invoices', calls('/invoices', [...every, 'search', 'delete', 'finalize', 'pay', 'send', 'void'])),
      ...named('subscriptions', calls('/subscriptions', [...every, 'search'])),
      // The only resource that is cancelled with DELETE.
      'subscriptions.cancel': { method: 'DELETE', path: '/subscriptions/{resourceId}' },
      ...named('products', calls('/products', [...every, 'search', 'delete'])),
      ...named('prices', calls('/prices', [...every, 'search'])),
      ...named('refunds', calls('/refunds', [...every, 'cancel'])),
      ...named('balanceTransactions', calls('/balance_transactions', ['list', 'retrieve'])),
      ...named('payouts', calls('/payouts', [...every, 'cancel'])),
      'balance.retrieve': { method: 'GET', path: '/balance' },
    },
  },
});
