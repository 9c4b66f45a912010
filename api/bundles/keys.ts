import type { BundledType } from '#shared/bundles/types.ts';
import { plainArray } from '#shared/db/array.ts';
import type { Query } from '#shared/db/query.ts';

/** By which key an asset of the tenant travels, and what the last import has left. */
export interface AssetKey {
  type: BundledType;
  key: string;
  assetID: string;
  itemHash: string;
  assetHash: string;
  /** Secrets that no import has brought. */
  missingSecrets: (string | number)[][];
}

const COLUMNS =
  'type, key, asset_id as "assetID", item_hash as "itemHash", asset_hash as "assetHash", missing_secrets as "missingSecrets"';

/** By asset; those without a key of their own travel by their ids. */
export async function keysOfAssets(
  query: Query,
  tenantID: string,
  assetIDs: readonly string[],
): Promise<ReadonlyMap<string, AssetKey>> {
  const sql = `select ${COLUMNS} from bundle_key where tenant_id = $1 and asset_id = any($2::uuid[])`;
  const { rows } = await query<AssetKey>(sql, [tenantID, plainArray(assetIDs)]);
  return new Map(rows.map((row) => [row.assetID, row]));
}

export function placeOf({ type, id }: { type: string; id: string }): string {
  return `${type}:${id}`;
}
