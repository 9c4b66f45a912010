import type { tenantdb } from '#shared/datasources/tenantdb.ts';
import { createConnection } from '../postgresql/connection.ts';
import type { Connector } from './connector.ts';

/** Holds nothing itself: the connections are those of all work in the tenant's database. */
export const connectTenantdb: Connector<typeof tenantdb> = (_options, { tenantID, tenantDatabases }) => ({
  ...createConnection({
    where: "the tenant's database",
    use: (signal, work) => tenantDatabases.use(tenantID, signal, work),
  }),
  [Symbol.asyncDispose]: async () => undefined,
});
