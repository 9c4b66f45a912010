import { invalidField, mapPaths, type Path } from '#shared/core/schema/issues.ts';
import { requireValue } from '#shared/core/schema/parse.ts';
import { Datasource } from '#shared/entities/tables/datasource.ts';
import { TenantVariable } from '#shared/entities/tables/tenant-variable.ts';
import { openForUpdate, readIncomplete } from '../../resources/datasources/options.ts';
import { DatasourceCreate } from '../../resources/datasources/schemas.ts';
import { isReadable } from '../../resources/variables/present.ts';
import { type GivenItem, withSecrets } from './read-items.ts';
import { freshIn, type Importing } from './run-handler.ts';

interface SecretOwner {
  item: GivenItem;
  assetID: string;
  isHere: boolean;
}

/** The secrets of an item that neither the request brings nor the tenant has. */
export async function missingSecretsOf(importing: Importing, owner: SecretOwner): Promise<Path[]> {
  const { type, index } = owner.item;
  if (type !== 'datasource' && type !== 'variable') return [];
  try {
    return await (type === 'datasource' ? ofDatasource(importing, owner) : ofVariable(importing, owner));
  } catch (error) {
    throw mapPaths(error, (path) => ['bundle', 'items', index, 'payload', ...path]);
  }
}

async function ofDatasource({ input, context }: Importing, { item, assetID, isHere }: SecretOwner): Promise<Path[]> {
  const body = requireValue(DatasourceCreate, withSecrets(item.payload, item.secrets));
  const stored = isHere ? await freshIn(input.em).findOne(Datasource, { id: assetID }) : null;
  const isSameType = stored && stored.datasourceType === body.datasourceType;
  const known = isSameType ? openForUpdate(context.secrets, stored) : {};
  return readIncomplete(body.datasourceType, body.datasourceOptions, known).missing;
}

async function ofVariable({ input, context }: Importing, { item, assetID, isHere }: SecretOwner): Promise<Path[]> {
  const isSecret = item.payload.isSecret === true;
  const stored = isHere ? await freshIn(input.em).findOne(TenantVariable, { id: assetID }) : null;
  if (stored && (typeof stored.secret === 'string') !== isSecret)
    throw invalidField('isSecret', `the variable here is ${isSecret ? 'no' : 'a'} secret, and stays as it is`);
  if (!isSecret || item.secrets.length > 0) return [];
  const isStored = stored && isReadable(context.secrets, stored);
  return isStored ? [] : [['value']];
}
