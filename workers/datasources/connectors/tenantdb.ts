import type { tenantdb } from '#shared/datasources/types/tenantdb.ts';
import { createDatasourceConnection } from '../../connections/postgresql/datasource-connection.ts';
import type { Connector } from './connector.ts';

/** Has no connections of its own: it borrows those of the tenant's database. */
export const connectTenantdb: Connector<typeof tenantdb> = (_options, { tenantID, tenantDatabases }) => ({
  ...createDatasourceConnection({
    where: "the tenant's database",
    withConnection: (signal, work) => tenantDatabases.withConnection(tenantID, signal, work),
  }),
  [Symbol.asyncDispose]: async () => undefined,
});
