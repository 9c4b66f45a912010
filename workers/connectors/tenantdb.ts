import type { tenantdb } from '#shared/datasources/tenantdb.ts';
import { createDatasourceConnection } from '../postgresql/datasource-connection.ts';
import type { Connector } from './connector.ts';

/** Holds nothing itself: the connections are those of all work in the tenant's database. */
export const connectTenantdb: Connector<typeof tenantdb> = (_options, { tenantID, tenantDatabases }) => ({
  ...createDatasourceConnection({
    where: "the tenant's database",
    lend: (signal, work) => tenantDatabases.lend(tenantID, signal, work),
  }),
  [Symbol.asyncDispose]: async () => undefined,
});
