import { isDeepStrictEqual } from 'node:util';
import type { z } from 'zod';
import { AppError } from '#shared/core/errors.ts';
import type { KeyRing } from '#shared/core/key-ring.ts';
import { invalid } from '#shared/core/schema/issues.ts';
import { webhook } from '#shared/datasources/types/webhook.ts';
import { onEntities } from '#shared/db/query.ts';
import type { EntityManager } from '#shared/entities/orm.ts';
import { DataQuery } from '#shared/entities/tables/data-query.ts';
import type { Datasource } from '#shared/entities/tables/datasource.ts';
import { Listener } from '#shared/entities/tables/listener.ts';
import { findEndpointConflict } from '#shared/triggers/listeners/endpoint-conflicts.ts';
import { typeAccess } from '../../assets/datasource-access.ts';
import { requireFolder } from '../../assets/folders.ts';
import { tenantRoute } from '../../context/routes.ts';
import { checkConnection } from './check-connection.ts';
import { getDatasource } from './find.ts';
import { openForUpdate, readOptions, sealOptions, unknownOptions } from './options.ts';
import { presentDatasource } from './present.ts';
import { Changed, DatasourceID, DatasourceUpdate } from './schemas.ts';

export const updateDatasource = tenantRoute({
  name: 'updateDatasource',
  method: 'patch',
  path: '/datasources/:datasourceID',
  summary: 'Update a datasource',
  description:
    'Fields that are left out stay as they are. Options are given as a whole; a secret that is sent back masked stays as it is, but must be given again when the address it is sent to changes.',
  access: ({ params, body }) => [
    { permission: 'datasource.update', object: `datasource:${params.datasourceID}` },
    ...typeAccess(body.datasourceType),
  ],
  params: DatasourceID,
  body: DatasourceUpdate,
  hides: ['value'],
  response: Changed,
  errors: ['409'],

  async handle({ params, body, em, reportUnknown }, { secrets }) {
    return em.transactional(async (tx) => {
      const datasource = await getDatasource(tx, params.datasourceID, { lock: true });
      await changeType(tx, datasource, body);
      if (body.datasourceOptions) reportUnknown(unknownOptions(datasource.datasourceType, body.datasourceOptions));
      if (changeOptions(datasource, body, secrets)) await checkConnection(tx, datasource.datasourceOptions);
      const { datasourceTitle, datasourceDescription, datasourceTags, folderID } = body;
      const changes = { datasourceTitle, datasourceDescription, datasourceTags, folderID };
      await requireFolder(tx, 'datasource', folderID);
      tx.assign(datasource, changes, { ignoreUndefined: true });
      await tx.flush();
      if (body.datasourceOptions) await checkEndpoints(tx, datasource);
      return { datasource: presentDatasource(datasource, secrets), message: 'Datasource updated' };
    });
  },
});

type Update = z.output<typeof DatasourceUpdate>;

/** Rejects methods that another listener takes at the path of a listener of the datasource. */
async function checkEndpoints(em: EntityManager, { id, tenantID, datasourceType }: Datasource): Promise<void> {
  if (datasourceType !== webhook.type) return;
  const listeners = await em.find(Listener, { datasourceID: id, endpointPath: { $ne: null } });
  for (const { id: listenerID, endpointPath } of listeners) {
    if (!endpointPath) continue;
    const of = { tenantID, path: endpointPath, datasourceID: id, listenerID };
    const other = await findEndpointConflict(onEntities(em), of);
    if (other === undefined) continue;
    const message = `another listener of this tenant has ${other} with the same methods`;
    throw invalid([{ path: ['datasourceOptions', 'allowedMethods'], message }], { code: 'CONFLICT' });
  }
}

async function changeType(
  em: EntityManager,
  datasource: Datasource,
  { datasourceType, datasourceOptions }: Update,
): Promise<void> {
  if (datasourceType === undefined || datasourceType === datasource.datasourceType) return;
  if (!datasourceOptions)
    throw invalid([{ path: ['datasourceOptions'], message: 'is required when the type changes' }]);
  const queries = await em.count(DataQuery, { datasourceID: datasource.id });
  if (queries > 0)
    throw new AppError(
      'CONFLICT',
      `${queries} data ${queries === 1 ? 'query is' : 'queries are'} written for ${datasource.datasourceType}: the type cannot change`,
    );
  const listeners = await em.count(Listener, { datasourceID: datasource.id });
  if (listeners > 0)
    throw new AppError(
      'CONFLICT',
      `${listeners} ${listeners === 1 ? 'listener is' : 'listeners are'} of type ${datasource.datasourceType}: the type cannot change`,
    );
  datasource.datasourceType = datasourceType;
  // A mask in options of a new type cannot stand for a secret of the old type.
  datasource.datasourceOptions = {};
}

/** Changes the options; returns whether they differ from the stored ones. */
function changeOptions(datasource: Datasource, { datasourceOptions: given }: Update, secrets: KeyRing): boolean {
  if (!given) return false;
  const before = openForUpdate(secrets, datasource);
  const datasourceOptions = readOptions(datasource.datasourceType, given, before);
  if (isDeepStrictEqual(before, datasourceOptions)) return false;
  datasource.datasourceOptions = sealOptions(secrets, { ...datasource, datasourceOptions });
  datasource.connectionStatus = 'unknown';
  datasource.testedAt = null;
  return true;
}
