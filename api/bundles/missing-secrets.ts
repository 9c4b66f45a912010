import { Datasource } from '#shared/db/entities/datasource.ts';
import { requireValue } from '#shared/parse-value.ts';
import { mapPaths, type Path } from '#shared/workflow/issues.ts';
import { openOptions, readIncomplete } from '../resources/datasources/options.ts';
import { DatasourceCreate } from '../resources/datasources/schemas.ts';
import { freshIn, type Importing } from './call-route.ts';
import { type GivenItem, withSecrets } from './read-items.ts';

/** The secrets of a datasource that neither the request brings nor the tenant has. */
export async function missingSecretsOf(
  { input, context }: Importing,
  { item, assetID, isHere }: { item: GivenItem; assetID: string; isHere: boolean },
): Promise<Path[]> {
  if (item.type !== 'datasource') return [];
  try {
    const given = requireValue(DatasourceCreate, withSecrets(item.payload, item.secrets));
    const stored = isHere ? await freshIn(input.em).findOne(Datasource, { id: assetID }) : null;
    const before = stored && stored.datasourceType === given.datasourceType;
    const known = before ? openOptions(context.secrets, stored) : {};
    return readIncomplete(given.datasourceType, given.datasourceOptions, known).missing;
  } catch (error) {
    throw mapPaths(error, (path) => ['bundle', 'items', item.index, 'payload', ...path]);
  }
}
