import { z } from 'zod';
import { destination } from '../secret.ts';
import { defineDatasource } from './define-datasource.ts';
import { HTTPAddress, SecretPairs, sslVerify } from './http-fields.ts';

/** A URL that answers with server-sent events. Listeners of the type receive them. */
export const sse = defineDatasource({
  type: 'sse',
  label: 'Server-sent events',
  category: 'messaging',
  listensOnly: true,
  options: z.object({
    connectionName: z.string().max(255).optional().meta({ title: 'Name' }),
    url: destination(HTTPAddress).meta({ title: 'URL' }),
    headers: SecretPairs.meta({ title: 'Headers' }),
    sslVerify,
  }),
  query: z.object({}),
  templates: {},
  // It has no queries.
  writes: () => null,
  defaults: { options: { url: 'https://example.com/events' }, query: {} },
});
