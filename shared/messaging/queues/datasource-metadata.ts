import { z } from 'zod';
import { JsonObject } from '../../core/json.ts';
import { defineRPC } from './define-rpc.ts';

export const DatasourceItem = z.object({
  name: z.string(),
  kind: z.string(),
  isContainer: z.boolean(),
  type: z.string().optional(),
  details: JsonObject.optional(),
});

/** Entries of a stored datasource below a path, for browsing. */
export const datasourceMetadata = defineRPC({
  name: 'datasource.metadata',
  request: z.object({ tenantID: z.uuid(), datasourceID: z.uuid(), path: z.array(z.string()) }),
  response: z.object({ items: z.array(DatasourceItem) }),
  timeoutMs: 20_000,
  hasFewJobs: true,
  maxConcurrent: { target: 4, tenant: 8 },
  isShort: () => true,
});
