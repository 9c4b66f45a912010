import { plainArray, textArray } from '#shared/db/array.ts';
import type { Query } from '#shared/db/query.ts';
import type { BundledType } from './bundle-types.ts';

/** The key of an asset in bundles, which is the same in every tenant, and the state of the asset after its last import. */
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

/** Keys by asset. Assets without a key have their id as key in bundles. */
export async function keysOfAssets(
  query: Query,
  tenantID: string,
  assetIDs: readonly string[],
): Promise<ReadonlyMap<string, AssetKey>> {
  const sql = `select ${COLUMNS} from bundle_key where tenant_id = $1 and asset_id = any($2::uuid[])`;
  const { rows } = await query<AssetKey>(sql, [tenantID, plainArray(assetIDs)]);
  return new Map(rows.map((row) => [row.assetID, row]));
}

/** Keys of items, by `itemKeyOf` the item. */
export async function keysOfItems(
  query: Query,
  tenantID: string,
  items: readonly { type: BundledType; id: string }[],
): Promise<ReadonlyMap<string, AssetKey>> {
  const sql = `
select ${COLUMNS} from bundle_key
where tenant_id = $1 and (type, key) in (select * from unnest($2::text[], $3::uuid[]))`;
  const types = textArray(items.map(({ type }) => type));
  const { rows } = await query<AssetKey>(sql, [tenantID, types, plainArray(items.map(({ id }) => id))]);
  return new Map(rows.map((row) => [itemKeyOf({ type: row.type, id: row.key }), row]));
}

export function itemKeyOf({ type, id }: { type: string; id: string }): string {
  return `${type}:${id}`;
}

/**
 * Gives assets their keys. A key that another asset had moves to the new one: the other was deleted, or is no longer of
 * this bundle.
 */
export async function writeKeys(query: Query, tenantID: string, keys: readonly AssetKey[]): Promise<void> {
  const ids = plainArray(keys.map(({ assetID }) => assetID));
  await query('delete from bundle_key where tenant_id = $1 and asset_id = any($2::uuid[])', [tenantID, ids]);
  const rows = keys.map(
    ({ assetID: asset_id, itemHash: item_hash, assetHash: asset_hash, missingSecrets, ...own }) => ({
      ...{ type: own.type, key: own.key, asset_id, item_hash, asset_hash, missing_secrets: missingSecrets },
    }),
  );
  await query(WRITE, [tenantID, JSON.stringify(rows)]);
}

const WRITE = `
insert into bundle_key (tenant_id, type, key, asset_id, item_hash, asset_hash, missing_secrets)
select $1, type, key, asset_id, item_hash, asset_hash, missing_secrets
from jsonb_to_recordset($2::jsonb)
  as r(type text, key uuid, asset_id uuid, item_hash text, asset_hash text, missing_secrets jsonb)
on conflict (tenant_id, type, key) do update set asset_id = excluded.asset_id, item_hash = excluded.item_hash,
  asset_hash = excluded.asset_hash, missing_secrets = excluded.missing_secrets, updated_at = now()`;
