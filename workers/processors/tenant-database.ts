import type { tenantDatabase } from '#shared/messaging/queues/tenant-database.ts';
import { operate } from '../tenant-database/operations.ts';
import type { RPCHandler } from './answer-requests.ts';

export const answerTenantDatabase: RPCHandler<typeof tenantDatabase> = (
  { request: { tenantID, operation }, signal },
  { tenantDatabases, pool, secrets },
) =>
  tenantDatabases.withConnection(tenantID, signal, (client) => operate(client, operation, { tenantID, pool, secrets }));
