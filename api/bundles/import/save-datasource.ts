import { type JsonObject, ofStored } from '#shared/core/json.ts';
import type { Path } from '#shared/core/schema/issues.ts';
import { invalidField } from '#shared/core/schema/issues.ts';
import { requireValue } from '#shared/core/schema/parse.ts';
import { Datasource } from '#shared/entities/tables/datasource.ts';
import { createAsset } from '../../assets/assets.ts';
import { typeAccess } from '../../assets/datasource-access.ts';
import { requireFolder } from '../../assets/folders.ts';
import { checkConnection } from '../../resources/datasources/check-connection.ts';
import { getDatasource } from '../../resources/datasources/find.ts';
import { openForUpdate, readIncomplete, sealOptions } from '../../resources/datasources/options.ts';
import { DatasourceCreate } from '../../resources/datasources/schemas.ts';
import { freshIn, type Importing } from './run-handler.ts';

/**
 * Saves a datasource as its routes do, except that secrets may be missing: stored ones are kept, and the paths of the others are
 * returned.
 */
export async function saveDatasource(
  { input, context, isRollback }: Importing,
  { id, payload, isNew }: { id: string; payload: JsonObject; isNew: boolean },
): Promise<Path[]> {
  const parse = () => requireValue(DatasourceCreate, payload);
  const body = isRollback ? ofStored(parse) : parse();
  const { datasourceTitle, datasourceType, datasourceDescription, datasourceTags = [], folderID } = body;
  const object = isNew ? 'datasource:*' : `datasource:${id}`;
  await input.require([
    { permission: isNew ? 'datasource.create' : 'datasource.update', object },
    ...typeAccess(datasourceType),
  ]);
  const em = freshIn(input.em);
  const stored = isNew ? undefined : await getDatasource(em, id, { lock: true });
  if (stored && stored.datasourceType !== datasourceType)
    throw invalidField('datasourceType', `the datasource here is of the type ${stored.datasourceType}`);
  const before = stored ? openForUpdate(context.secrets, stored) : {};
  const { options, missing } = readIncomplete(datasourceType, body.datasourceOptions, before);
  await checkConnection(em, options);
  const datasourceOptions = sealOptions(context.secrets, { id, datasourceType, datasourceOptions: options });
  const described = { datasourceTitle, datasourceDescription, datasourceTags, datasourceOptions, folderID };
  if (!stored) {
    await createAsset(em, input.caller, 'datasource', Datasource, { id, datasourceType, ...described });
    return missing;
  }
  await requireFolder(em, 'datasource', folderID);
  const unknown = { connectionStatus: 'unknown' as const, testedAt: null };
  em.assign(stored, { ...described, ...unknown }, { ignoreUndefined: true, mergeObjectProperties: false });
  await em.flush();
  return missing;
}
