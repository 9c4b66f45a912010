import { isDeepStrictEqual } from 'node:util';
import { requireQuota } from '#shared/access/quotas.ts';
import { yieldToEventLoop } from '#shared/concurrency/cooperative.ts';
import type { Caller } from '#shared/core/caller.ts';
import { AppError } from '#shared/core/errors.ts';
import { newID } from '#shared/core/ids.ts';
import type { JsonObject } from '#shared/core/json.ts';
import { onEntities } from '#shared/db/query.ts';
import type { EntityManager } from '#shared/entities/orm.ts';
import { AssetVersion } from '#shared/entities/tables/asset-version.ts';

/** The part of an asset that a version stores. */
export interface VersionContent {
  title: string;
  description: string | null;
  config: JsonObject;
}

interface Versioned {
  id: string;
  tenantID: string;
  versionNumber: number;
}

interface Saving {
  caller: Caller;
  changeNote: string | null | undefined;
}

/** Limits of the stored versions of one asset. The latest version is always kept. */
const MAX_STORED = 100;
const MAX_STORED_BYTES = 10 * 1024 ** 2;

/** Flushes a change of an asset that is locked. If its content has changed, the content is saved as the next version. */
export async function saveNextVersion(
  em: EntityManager,
  { asset, before, after }: { asset: Versioned; before: VersionContent; after: VersionContent },
  saving: Saving,
): Promise<void> {
  const isSame = isDeepStrictEqual(before, after);
  if (!isSame) asset.versionNumber += 1;
  // Large contents were read and compared in this turn of the event loop, and are serialized twice in the next one.
  await yieldToEventLoop();
  await em.flush();
  if (!isSame) await saveVersion(em, asset, { ...saving, ...after });
}

/** Saves the content of an asset as a version with the asset's version number, in the transaction that writes the asset. */
export async function saveVersion(
  em: EntityManager,
  { id: assetID, tenantID, versionNumber: number }: Versioned,
  { caller, changeNote = null, ...content }: VersionContent & Saving,
): Promise<void> {
  em.create(AssetVersion, {
    ...{ id: newID(), tenantID, assetID, number, changeNote, ...content },
    creatorID: caller.userID ?? caller.id,
    createdByApiKeyID: caller.type === 'apiKey' ? caller.id : null,
  });
  await em.flush();
  await onEntities(em)(DROP_OLDEST, [assetID, MAX_STORED, MAX_STORED_BYTES]);
  await requireQuota(onEntities(em), { quota: 'assetVersionBytes', ownerID: tenantID, amount: 0 });
}

const DROP_OLDEST = `
delete from asset_version where id in (
  select id from (
    select id, row_number() over newest as n, sum(bytes) over newest as bytes
    from asset_version where asset_id = $1 window newest as (order by number desc)
  ) kept
  where n > $2 or (n > 1 and bytes > $3))`;

/** A version by its id, or by its number. */
export async function getVersion(em: EntityManager, assetID: string, name: string | number): Promise<AssetVersion> {
  const named = typeof name === 'number' ? { number: name } : { id: name };
  const version = await em.findOne(AssetVersion, { assetID, ...named });
  if (!version) throw new AppError('NOT_FOUND', 'Version not found');
  return version;
}

/** The version before `version`; null if there is none or it is no longer kept. */
export function findPrevious(em: EntityManager, { assetID, number }: AssetVersion): Promise<AssetVersion | null> {
  return em.findOne(AssetVersion, { assetID, number: { $lt: number } }, { orderBy: { number: 'desc' } });
}
