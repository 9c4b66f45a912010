import { z } from 'zod';
import { JsonObject } from '../../core/json.ts';
import { defineRPC } from './define-rpc.ts';

/** Tests a connection, with the stored options or with the options of the request. */
export const datasourceTests = defineRPC({
  name: 'datasource.tests',
  request: z.discriminatedUnion('kind', [
    z.object({ kind: z.literal('url'), url: z.string() }),
    z.object({ kind: z.literal('stored'), tenantID: z.uuid(), datasourceID: z.uuid() }),
    z.object({
      kind: z.literal('given'),
      tenantID: z.uuid(),
      datasourceType: z.string(),
      datasourceOptions: JsonObject,
    }),
  ]),
  response: z.object({ reachable: z.literal(true) }),
  timeoutMs: 15_000,
  hasFewJobs: true,
  maxConcurrent: { user: 4, tenant: 8 },
  isShort: () => true,
});
