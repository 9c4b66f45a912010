import { Datasource } from '#shared/entities/tables/datasource.ts';
import { createAsset } from '../../assets/assets.ts';
import { typeAccess } from '../../assets/datasource-access.ts';
import { tenantRoute } from '../../context/routes.ts';
import { checkConnection } from './check-connection.ts';
import { readOptions, sealOptions, unknownOptions } from './options.ts';
import { presentDatasource } from './present.ts';
import { Changed, DatasourceCreate } from './schemas.ts';

export const createDatasource = tenantRoute({
  name: 'createDatasource',
  method: 'post',
  path: '/datasources',
  summary: 'Create a datasource',
  description: 'Stores the options of a connection. Secrets are stored encrypted and are masked in every answer.',
  status: 201,
  access: ({ body }) => [
    { permission: 'datasource.create', object: 'datasource:*' },
    ...typeAccess(body.datasourceType),
  ],
  body: DatasourceCreate,
  hides: ['value'],
  response: Changed,
  idempotent: 'transaction',

  async handle({ body, caller, em, newAssetID, reportUnknown }, { secrets }) {
    const { datasourceTitle, datasourceType, datasourceDescription, datasourceTags = [], folderID } = body;
    reportUnknown(unknownOptions(datasourceType, body.datasourceOptions));
    const id = newAssetID();
    const options = readOptions(datasourceType, body.datasourceOptions);
    await checkConnection(em, options);
    const datasourceOptions = sealOptions(secrets, { id, datasourceType, datasourceOptions: options });
    const datasource = await createAsset(em, caller, 'datasource', Datasource, {
      id,
      datasourceTitle,
      datasourceType,
      datasourceDescription,
      datasourceTags,
      datasourceOptions,
      folderID,
    });
    return { datasource: presentDatasource(datasource, secrets), message: 'Datasource created' };
  },
});
