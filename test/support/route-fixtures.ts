import { newID } from '#shared/ids.ts';
import type { Cluster } from './cluster.ts';
import { testServers } from './environment.ts';
import { aMember, anApiKey, aRole, aUser, aWorkflow, chain, type TestTenant } from './factories.ts';

/** The smallest there is: one pixel. */
export function aPNG(): Buffer {
  return Buffer.from(
    'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
    'base64',
  );
}

/** A form with one file, which is an image unless the test says otherwise. */
export function aFile(bytes: Buffer = aPNG(), { field = 'file', name = 'logo.png' } = {}): FormData {
  const form = new FormData();
  form.append(field, new Blob([new Uint8Array(bytes)]), name);
  return form;
}

type MakeParam = (cluster: Cluster, tenant: TestTenant) => Promise<string>;

/** For every parameter of every path: something of this tenant that it can name. */
const params: Record<string, MakeParam> = {
  tenantID: async (_cluster, tenant) => tenant.id,
  workflowID: async (cluster, tenant) => (await aWorkflow(cluster, { tenant })).id,
  apiKeyID: async (cluster, tenant) => (await anApiKey(cluster, { tenant })).id,
  instanceID: aRun,
  logoID: async (cluster, tenant) => {
    const answer = await cluster.as(tenant.creator).in(tenant).post('T/upload-logo', aFile(aPNG()));
    return answer.body.url.split('/').at(-1);
  },
  userID: async (cluster) => (await aUser(cluster)).id,
  tenantUserID: async (cluster, tenant) => (await aMember(cluster, { tenant })).id,
  roleID: async (cluster, tenant) => (await aRole(cluster, { tenant })).id,
  collectionRequestID: async (cluster, tenant) => {
    const id = newID();
    await cluster.context.pool.query(
      `insert into collection_request (id, tenant_id, instance_id, node_id, collection_type, collection_config)
       values ($1, $2, $3, 'ask', 'form', '{}')`,
      [id, tenant.id, await aRun(cluster, tenant)],
    );
    return id;
  },
};

/** Whoever the body of a login means. */
export const loginFixture = { email: 'operator@example.test', password: 'correct horse battery' };

/** A body that will do, for every route that does not take an empty one. */
const bodies: Record<string, unknown> = {
  'post /api/v1/auth/config/:tenantID': { config: { theme: 'dark' } },
  'patch /api/v1/tenants/dbtest': { tenantDBURL: testServers.databaseURL },
  'post /api/v1/operator/auth/login': loginFixture,
  'patch /api/v1/operator/users/:userID': { isDisabled: true },
  'post /api/v1/operator/roles': { roleName: 'A role', rolePermissions: ['workflow.read'] },
  'post /api/v1/tenants': { tenantTitle: 'A tenant' },
  'post /api/v1/tenants/:tenantID/apikeys': { apiKeyName: 'A key', apiKeyPermissions: ['workflow.read'] },
  'post /api/v1/tenants/:tenantID/workflows': { title: 'A workflow', ...chain() },
  'post /api/v1/tenants/:tenantID/workflows/test': chain(),
  'post /api/v1/tenants/:tenantID/workflows/data-collection/:collectionRequestID/submit': { submittedData: { a: 1 } },
  'post /api/v1/tenants/:tenantID/users': { userEmail: 'somebody@example.test' },
  'patch /api/v1/tenants/:tenantID/users/:tenantUserID/roles': { roleIDs: [] },
  'post /api/v1/tenants/:tenantID/roles': { roleName: 'A role', rolePermissions: ['workflow.read'] },
};

export function paramFixture(name: string): MakeParam {
  const make = params[name];
  if (!make)
    throw new Error(`The path parameter "${name}" has no fixture: give it one in test/support/route-fixtures.ts`);
  return make;
}

export function bodyFixture(route: { name: string; takes(body: unknown): boolean }): unknown {
  const body = bodies[route.name] ?? {};
  if (!route.takes(body))
    throw new Error(`"${route.name}" wants a body that will do: give it one in test/support/route-fixtures.ts`);
  return body;
}

async function aRun(cluster: Cluster, tenant: TestTenant): Promise<string> {
  const workflow = await aWorkflow(cluster, { tenant });
  const { instanceID } = await cluster.context.runs.accept({
    tenantID: tenant.id,
    workflowID: workflow.id,
    versionID: workflow.versionID,
    caller: { type: 'user', id: tenant.creator.id, userID: tenant.creator.id, origin: 'direct' },
    input: {},
    timeoutMs: 3_600_000,
  });
  return instanceID;
}
