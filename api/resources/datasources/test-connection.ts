import type { z } from 'zod';
import { AppError } from '#shared/core/errors.ts';
import { isJsonObject } from '#shared/core/json.ts';
import { invalid } from '#shared/core/schema/issues.ts';
import type { EntityManager } from '#shared/entities/orm.ts';
import { Datasource } from '#shared/entities/tables/datasource.ts';
import { datasourceTests } from '#shared/messaging/queues/datasource-tests.ts';
import { tenantRoute } from '../../context/routes.ts';
import type { Access } from '../../http/route/input.ts';
import { usesConnection } from './check-connection.ts';
import { getDatasource } from './find.ts';
import { openForUpdate, readOptions, unknownOptions } from './options.ts';
import { ConnectionResult, DatasourceID, DatasourceTest } from './schemas.ts';

const connected = { connectionResult: true as const, message: 'The connection works' };

export const testGivenDatasource = tenantRoute({
  name: 'testDatasourceConnection',
  method: 'post',
  path: '/datasources/test',
  summary: 'Test the options of a datasource',
  description:
    'A worker connects with options that are not stored. With `datasourceID`, a masked secret stands for the stored one of that datasource.',
  access: ({ body }) => [
    { permission: 'datasource.test', object: `datasource:${body.datasourceID ?? '*'}` },
    ...secretAccess(body),
  ],
  body: DatasourceTest,
  hides: ['value'],
  response: ConnectionResult,
  idempotent: false,
  errors: ['409', '502', '504'],

  async handle({ body, tenantID, caller, em, signal, reportUnknown }, { secrets, messaging: { producer } }) {
    const { datasourceType, datasourceID } = body;
    reportUnknown(unknownOptions(datasourceType, body.datasourceOptions));
    const stored = datasourceID ? await em.findOne(Datasource, { id: datasourceID }) : undefined;
    if (stored === null) throw invalid([{ path: ['datasourceID'], message: 'there is no such datasource' }]);
    const before = stored?.datasourceType === datasourceType ? openForUpdate(secrets, stored) : {};
    const datasourceOptions = readOptions(datasourceType, body.datasourceOptions, before);
    await producer.request(
      datasourceTests,
      { kind: 'given', tenantID, datasourceType, datasourceOptions },
      { signal, limitKeys: { user: caller.id, tenant: tenantID } },
    );
    return connected;
  },
});

/** The permission to use a stored secret: to change the datasource, or to create one with the OAuth connection. */
function secretAccess({ datasourceID, datasourceOptions }: z.output<typeof DatasourceTest>): Access[] {
  if (datasourceID) return [{ permission: 'datasource.update', object: `datasource:${datasourceID}` }];
  if (usesConnection(datasourceOptions)) return [{ permission: 'datasource.create', object: 'datasource:*' }];
  return [];
}

export const testStoredDatasource = tenantRoute({
  name: 'testDatasource',
  method: 'post',
  path: '/datasources/:datasourceID/test',
  summary: 'Test a datasource',
  description: 'A worker connects with the stored options. The result is kept as `connectionStatus`.',
  permission: 'datasource.test',
  object: ({ params }) => `datasource:${params.datasourceID}`,
  params: DatasourceID,
  response: ConnectionResult,
  idempotent: false,
  errors: ['409', '502', '504'],

  async handle({ params, tenantID, caller, em, signal }, { messaging: { producer } }) {
    const datasource = await getDatasource(em, params.datasourceID);
    const payload = { kind: 'stored', tenantID, datasourceID: datasource.id } as const;
    try {
      await producer.request(datasourceTests, payload, { signal, limitKeys: { user: caller.id, tenant: tenantID } });
    } catch (error) {
      // Other errors say nothing about the datasource.
      if (isVerdict(error)) await note(em, datasource, 'failed');
      throw error;
    }
    await note(em, datasource, 'connected');
    return connected;
  },
});

function isVerdict(error: unknown): boolean {
  if (!(error instanceof AppError)) return false;
  // A timeout without this reason means that no worker answered.
  if (error.code === 'UPSTREAM_TIMEOUT') return isJsonObject(error.details) && error.details.reason === 'timeout';
  return verdicts.has(error.code);
}

const verdicts: ReadonlySet<string> = new Set(['UPSTREAM_FAILED', 'DB_ERROR', 'VALIDATION_ERROR']);

/** Stores the result, unless the datasource was changed meanwhile. */
async function note(
  em: EntityManager,
  { id, updatedAt }: Datasource,
  connectionStatus: Datasource['connectionStatus'],
): Promise<void> {
  await em.nativeUpdate(Datasource, { id, updatedAt }, { connectionStatus, testedAt: new Date() });
}
