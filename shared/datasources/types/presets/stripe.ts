import { z } from 'zod';
import {
  definePreset,
  fieldsOf,
  id,
  named,
  operation,
  type PresetCall,
  type PresetPaging,
  resource,
  token,
  wanted,
} from './define-preset.ts';

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
    secretKey: token('Secret key', 'Secret or restricted key of the account, which begins with sk_ or rk_'),
    apiVersion: z.string().max(50).default('').meta({
      title: 'API version',
      description: 'Such as 2026-10-28.endive. Empty: the version that the account has chosen',
    }),
  }),
  query: z.object({
    resource: resource([
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
    operation: operation(operations),
    resourceId: id('Id', 'Id of the object, such as cus_123'),
    params: fieldsOf(
      'Parameters',
      'By the names of the API of Stripe, such as {"email": "name@example.com"}; for a list its filters',
    ),
    limit: wanted,
    startingAfter: id('After', 'Id of an object; the list begins behind it'),
    searchQuery: z.string().max(2_000).default('').meta({
      title: 'Search',
      description: 'In the query language of Stripe, such as email:"name@example.com"',
    }),
    expand: z
      .array(z.string().max(200))
      .max(20)
      .default([])
      .meta({ title: 'Expand', description: 'Objects that come in place of their ids, such as customer' }),
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
