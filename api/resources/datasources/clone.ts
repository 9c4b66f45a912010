import { newID } from '#shared/core/ids.ts';
import { Datasource } from '#shared/entities/tables/datasource.ts';
import { createAsset } from '../../assets/assets.ts';
import { titleOfCopy } from '../../assets/copy-title.ts';
import { folderOfCopy } from '../../assets/folders.ts';
import { tenantRoute } from '../../context/routes.ts';
import { getDatasource } from './find.ts';
import { openOptions, sealOptions } from './options.ts';
import { presentDatasource } from './present.ts';
import { Changed, DatasourceID } from './schemas.ts';

export const cloneDatasource = tenantRoute({
  name: 'cloneDatasource',
  method: 'post',
  path: '/datasources/:datasourceID/clone',
  summary: 'Clone a datasource',
  description:
    'Copies a datasource with its secrets. It is refused if one of them was sealed with a key that is not here.',
  access: ({ params }) => [
    { permission: 'datasource.read', object: `datasource:${params.datasourceID}` },
    { permission: 'datasource.create', object: 'datasource:*' },
  ],
  params: DatasourceID,
  response: Changed,
  errors: ['409'],
  idempotent: 'transaction',

  async handle({ params, caller, em }, { secrets }) {
    const original = await getDatasource(em, params.datasourceID);
    const { datasourceType, datasourceDescription, datasourceTags } = original;
    const folderID = await folderOfCopy(em, 'datasource', original);
    const id = newID();
    const datasource = await createAsset(em, caller, 'datasource', Datasource, {
      id,
      datasourceTitle: titleOfCopy(original.datasourceTitle),
      datasourceType,
      datasourceDescription,
      datasourceTags,
      // Secrets are sealed anew: a sealed text opens in its own row only.
      datasourceOptions: sealOptions(secrets, {
        id,
        datasourceType,
        datasourceOptions: openOptions(secrets, original),
      }),
      folderID,
    });
    return { datasource: presentDatasource(datasource, secrets), message: 'Datasource copied' };
  },
});
