import type { DatasourceDefinition } from '#shared/datasources/types/define-datasource.ts';
import { createFiles, type Files } from '#workers/datasources/files/files.ts';
import { type Cluster, startCluster } from './cluster.ts';
import { type OpenedDatasource, openDatasource } from './connector.ts';
import { testLogger } from './environment.ts';
import { aTenant, type TestTenant } from './factories.ts';
import { aFile } from './route-fixtures.ts';

/** An API to upload files to, and a worker's access to them. */
export interface FileWorld extends AsyncDisposable {
  readonly cluster: Cluster;
  readonly tenant: TestTenant;
  readonly files: Files;
  upload(name: string, bytes: Buffer | string, tenant?: TestTenant): Promise<{ fileID: string; filePath: string }>;
  open(definition: DatasourceDefinition, options: unknown, tenant?: TestTenant): Promise<OpenedDatasource>;
}

export async function startFileWorld(): Promise<FileWorld> {
  await using resources = new AsyncDisposableStack();
  const cluster = resources.use(await startCluster({ workers: false }));
  const own = await aTenant(cluster);
  const files = resources.use(await createFiles({ ...cluster.context, logger: testLogger }));
  const owned = resources.move();
  return {
    cluster,
    tenant: own,
    files,
    async upload(name, bytes, tenant = own) {
      const form = aFile(Buffer.from(bytes), { name });
      const { status, body } = await cluster.as(tenant.creator).in(tenant).post('T/datasources/upload', form);
      if (status !== 201) throw new Error(`${name} was not taken: ${JSON.stringify(body)}`);
      return body;
    },
    open: (definition, options, tenant = own) => openDatasource(definition, options, { tenantID: tenant.id, files }),
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}
