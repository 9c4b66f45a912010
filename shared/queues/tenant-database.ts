import { z } from 'zod';
import { JsonObject } from '../json.ts';
import { defineAsk } from './define-ask.ts';

const text = z.string();

/** What can be done in the database of a tenant; checked in form by whoever asks, and against the database by the worker. */
export const DatabaseOperation = z.discriminatedUnion('kind', [
  z.object({
    kind: z.literal('executeSQL'),
    sql: text,
    params: z.array(z.json()),
    readOnly: z.boolean(),
    timeoutSeconds: z.number(),
    maxRows: z.int(),
  }),
]);
export type DatabaseOperation = z.infer<typeof DatabaseOperation>;
export type DatabaseOperationOf<Kind extends DatabaseOperation['kind']> = Extract<DatabaseOperation, { kind: Kind }>;

/** Everything under `T/database`. */
export const tenantDatabase = defineAsk({
  name: 'tenant.database',
  question: z.object({ tenantID: z.uuid(), operation: DatabaseOperation }),
  /** In the form of the route that asks. */
  answer: JsonObject,
  timeoutMs: 65_000,
  perLane: { tenant: 8 },
});
