import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { describeRoutes } from '#api/http/openapi/describe-routes.ts';
import { routeGroups, routes } from '#api/resources/index.ts';
import { clientTypes } from '#ops/tools/client-types.ts';
import { compile, generateClient } from '#test/support/generated-client.ts';
import { startSmallApi } from '#test/support/small-api.ts';

let dir: string;
beforeAll(async () => {
  dir = await mkdtemp(join(tmpdir(), 'gantry-client-'));
  await generateClient(dir);
}, 60_000);
afterAll(() => rm(dir, { recursive: true, force: true }));

const sdk = './client/index.ts';

/** Uses the client. */
const use = `
import { createTenant, executeWorkflow, getTableStatistics, listTables } from '${sdk}';
import type { DatabaseTable, Failure, Workflow, WorkflowCreate, WorkflowExecution } from '${sdk}';

export async function use(tenantID: string): Promise<DatabaseTable | undefined> {
  const { data, error } = await listTables({ path: { tenantID, databaseSchemaName: 'public' } });
  if (!data) throw new Error(error.error.message);
  const failure: Failure = { success: false, error: { code: 'NOT_FOUND', message: 'Not found' } };
  // @ts-expect-error a parameter of the path is missing
  await getTableStatistics({ path: { tenantID, databaseSchemaName: 'public' } });
  // @ts-expect-error the title is a text
  await createTenant({ body: { tenantTitle: 1 } });
  const run = await executeWorkflow({ path: { tenantID, workflowID: tenantID }, body: { args: { n: 1 } }, query: { wait: 5 } });
  const outcome: WorkflowExecution | undefined = run.data;
  const created: WorkflowCreate = { title: 'A' };
  const nodes = (workflow: Workflow) => workflow.workflowNodes.length;
  console.log(outcome?.status, created, nodes, failure);
  return data.databaseTables[0];
}
`;

test('the types in the repository match the routes ("npm run openapi" writes them)', async () => {
  const written = await readFile(new URL('../../ops/client/rest.ts', import.meta.url), 'utf8');

  expect(written === (await clientTypes(describeRoutes(routeGroups)))).toBe(true);
}, 60_000);

test('a client generated from the document compiles under strict, with code that uses it', async () => {
  await writeFile(join(dir, 'use.ts'), use);

  expect(await compile(dir)).toBe('');
}, 60_000);

test('the generated client can call the service', async () => {
  await using api = await startSmallApi(routes);
  const { token } = await api.as('ada@example.com');
  const { client } = await import(pathToFileURL(join(dir, 'client/client.gen.ts')).href);
  const { createTenant, getTenant, listTenants } = await import(pathToFileURL(join(dir, 'client/sdk.gen.ts')).href);
  client.setConfig({ baseUrl: api.url, auth: () => token });

  const created = await createTenant({ body: { tenantTitle: 'Northwind' }, headers: { 'Idempotency-Key': 'once' } });
  const { tenantID } = created.data.tenant;
  const [listed, one, none] = await Promise.all([
    listTenants({ query: { pageSize: 10 } }),
    getTenant({ path: { tenantID } }),
    getTenant({ path: { tenantID: 'x' } }),
  ]);

  expect(listed.data).toMatchObject({ success: true, tenants: [{ tenantID }], totalCount: 1 });
  expect(one.data).toMatchObject({ tenant: { tenantTitle: 'Northwind', role: 'ADMIN' } });
  expect(none).toMatchObject({ error: { success: false, error: { code: 'VALIDATION_ERROR' } } });
}, 60_000);
