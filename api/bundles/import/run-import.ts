import { cooperative } from '#shared/concurrency/cooperative.ts';
import { newID } from '#shared/core/ids.ts';
import type { JsonObject } from '#shared/core/json.ts';
import type { Path } from '#shared/core/schema/issues.ts';
import { onEntities, type Query } from '#shared/db/query.ts';
import { BundleImport } from '#shared/entities/tables/bundle-import.ts';
import { findEndpointConflict } from '#shared/triggers/listeners/endpoint-conflicts.ts';
import { hashOf } from '../assets/hash.ts';
import { type AssetKey, itemKeyOf, writeKeys } from '../assets/keys.ts';
import { kinds } from '../assets/kinds.ts';
import { type Reading, readAssets } from '../assets/read-assets.ts';
import { nounOf, type Plan, type PlannedItem } from './plan-import.ts';
import { noteProgress } from './progress.ts';
import { withSecrets } from './read-items.ts';
import { freshIn, type ImportInput, type Importing } from './run-handler.ts';
import { saveItem } from './save-item.ts';

export type Change = {
  type: PlannedItem['type'];
  assetID: string;
  title: string;
  /** The payload before the import; null if the import has created the asset. */
  before: JsonObject | null;
  /** The hash of the asset as the import has left it. */
  hash: string;
  keyBefore: AssetKey | null;
};

interface Options {
  onConflict: 'skip' | 'overwrite';
}

/** One import of a tenant at a time: the second sees what the first has written. */
export async function lockImports({ em, tenantID }: ImportInput): Promise<void> {
  await onEntities(em)("set local lock_timeout = '30s'", []);
  await onEntities(em)('select pg_advisory_xact_lock(hashtextextended($1, 0))', [`bundle.import.${tenantID}`]);
}

/** Saves the items of a plan in the transaction of the request. */
export async function runImport(importing: Importing, { items }: Plan, { onConflict }: Options) {
  const isWritten = ({ action }: PlannedItem) =>
    action === 'create' || action === 'update' || (action === 'conflict' && onConflict === 'overwrite');
  const written = items.filter(isWritten);
  const created = new Set(written.filter(({ asset }) => !asset).map(objectOf));
  const own = { ...importing, created };
  const missing = new Map<string, readonly Path[]>();
  const warnings: string[] = [];
  const later: PlannedItem[] = [];
  /** New assets that are not saved yet. */
  const unsaved = new Set(written.filter(({ asset }) => !asset).map(itemKeyOf));
  for (const item of written) {
    unsaved.delete(itemKeyOf(item));
    const isIncomplete = item.references.some((one) => one.isNeeded && unsaved.has(itemKeyOf(one)));
    if (item.type === 'listener') warnings.push(...(await freeEndpoint(importing.input, item)));
    missing.set(item.assetID, await save(own, item, { isIncomplete }));
    noteProgress({ done: missing.size, total: written.length });
    if (isIncomplete && !item.asset) later.push(item);
  }
  // The assets that these items need exist now.
  for (const item of later) await save(own, { ...item, asset: undefined }, { isAgain: true });
  const changes = await noteChanges(importing.input, written, missing);
  const importID = await writeImport(importing.input, changes);
  return { importID, isWritten, warnings: [...items.flatMap((item) => item.warnings), ...warnings] };
}

function objectOf({ type, assetID }: PlannedItem): string {
  return `${kinds[type].resource}:${assetID}`;
}

function save(
  importing: Importing,
  item: PlannedItem,
  { isIncomplete = false, isAgain = false }: { isIncomplete?: boolean; isAgain?: boolean },
): Promise<Path[]> {
  const { type, assetID: id, title, index } = item;
  const payload = withSecrets(item.resolved, item.secrets);
  const isNew = !item.asset && !isAgain;
  return saveItem(importing, {
    type,
    id,
    payload,
    isNew,
    isIncomplete,
    title,
    at: ['bundle', 'items', index, 'payload'],
  });
}

const MAX_SUFFIX = 1_000;

/** A new listener gets the first path of its name that no other listener matches. */
async function freeEndpoint({ em, tenantID }: ImportInput, item: PlannedItem): Promise<string[]> {
  const { endpointPath: wanted } = item.resolved;
  if (typeof wanted !== 'string' || item.asset) return [];
  const paths = function* () {
    yield wanted;
    for (let n = 2; n < MAX_SUFFIX; n += 1) yield `${wanted}-${n}`;
  };
  for (const path of paths()) {
    const of = { tenantID, path, datasourceID: String(item.resolved.datasourceID), listenerID: null };
    if ((await findEndpointConflict(onEntities(freshIn(em)), of)) !== undefined) continue;
    item.resolved = { ...item.resolved, endpointPath: path };
    return path === wanted
      ? []
      : [`The ${nounOf('listener')} "${item.title}" gets the path ${path}: ${wanted} is taken`];
  }
  return [];
}

/** Reads the written assets again for their hashes, and stores the keys that they have in bundles from now on. */
async function noteChanges(
  { em, tenantID }: ImportInput,
  written: readonly PlannedItem[],
  missing: ReadonlyMap<string, readonly Path[]>,
): Promise<Change[]> {
  const reading: Reading = { em: freshIn(em), bytes: 0 };
  const hashes = new Map<string, string>();
  for (const [type, items] of Map.groupBy(written, (item) => item.type)) {
    const ids = items.map(({ assetID }) => assetID);
    for await (const { id, payload } of cooperative(await readAssets(reading, type, ids)))
      hashes.set(id, await hashOf(payload));
  }
  const keys = written.map(({ type, id: key, assetID, itemHash }): AssetKey => {
    const missingSecrets = (missing.get(assetID) ?? []).map((path) => [...path]);
    return { type, key, assetID, itemHash, assetHash: hashes.get(assetID) ?? '', missingSecrets };
  });
  await writeKeys(onEntities(em), tenantID, keys);
  return written.map(({ type, assetID, title, asset, known = null }) => ({
    ...{ type, assetID, title, before: asset?.payload ?? null, hash: hashes.get(assetID) ?? '' },
    keyBefore: known,
  }));
}

const MAX_STORED = 20;

async function writeImport({ em, tenantID, caller }: ImportInput, changes: readonly Change[]): Promise<string | null> {
  if (changes.length === 0) return null;
  const id = newID();
  const createdCount = changes.filter(({ before }) => before === null).length;
  em.create(BundleImport, {
    ...{ id, tenantID, createdCount, updatedCount: changes.length - createdCount, changes: [] },
    creatorID: caller.userID ?? caller.id,
    createdByApiKeyID: caller.type === 'apiKey' ? caller.id : null,
  });
  await em.flush();
  await writeChanges(onEntities(em), id, changes);
  await onEntities(em)(FORGET, [tenantID, MAX_STORED]);
  return id;
}

/** Characters of one statement: more would block the event loop for too long. */
const BATCH = 500_000;

async function writeChanges(query: Query, importID: string, changes: readonly Change[]): Promise<void> {
  let batch: string[] = [];
  let length = 0;
  for await (const change of cooperative(changes)) {
    const text = JSON.stringify(change);
    batch.push(text);
    length += text.length;
    if (length < BATCH) continue;
    await query(APPEND, [importID, `[${batch.join()}]`]);
    [batch, length] = [[], 0];
  }
  if (length > 0) await query(APPEND, [importID, `[${batch.join()}]`]);
}

const APPEND = 'update bundle_import set changes = changes || $2::jsonb where id = $1';

const FORGET = `
delete from bundle_import where tenant_id = $1 and id not in (
  select id from bundle_import where tenant_id = $1 order by created_at desc, id desc limit $2)`;
