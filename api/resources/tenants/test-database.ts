import { z } from 'zod';
import { datasourceTests } from '#shared/messaging/queues/datasource-tests.ts';
import { userRoute } from '../../context/routes.ts';
import { DatabaseTest } from './schemas.ts';

export const testDatabase = userRoute({
  name: 'testTenantDatabase',
  method: 'patch',
  path: '/api/v1/tenants/dbtest',
  summary: 'Test a database URL',
  description: 'A worker connects to a database. The URL is not stored.',
  body: DatabaseTest,
  response: z.object({ connectionResult: z.boolean() }),
  errors: ['429', '502', '504'],

  async handle({ body: { tenantDBURL }, identity: { userID }, signal }, { messaging: { producer } }) {
    const payload = { kind: 'url', url: tenantDBURL } as const;
    const { reachable } = await producer.request(datasourceTests, payload, { signal, limitKeys: { user: userID } });
    return { connectionResult: reachable };
  },
});
