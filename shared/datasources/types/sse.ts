import { z } from 'zod';
import { destination } from '../../core/schema/secret.ts';
import { connectionName } from '../fields/connection.ts';
import { HTTPAddress, SecretPairs, sslVerify } from '../fields/http.ts';
import { defineDatasource } from './define-datasource.ts';

/** A URL that answers with server-sent events. Listeners of the type receive them. */
export const sse = defineDatasource({
  type: 'sse',
  label: 'Server-sent events',
  category: 'messaging',
  listensOnly: true,
  options: z.object({
    connectionName,
    url: destination(HTTPAddress).meta({ title: 'URL', description: 'Such as https://example.com/events' }),
    headers: SecretPairs.meta({ title: 'Headers', description: 'Sent with the request that opens a connection' }),
    sslVerify,
  }),
  query: z.object({}),
  templates: {},
  // It has no queries.
  writes: () => null,
  defaults: { options: { url: 'https://example.com/events' }, query: {} },
});
