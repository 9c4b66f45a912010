import { type Policy, type PolicyCaller, scopeOf } from '#shared/access/policy/policy.ts';
import { type AssetChange, type ChangedAsset, changedAssets } from '#shared/messaging/realtime/asset-changes.ts';
import { type Member, type RoomContext, type Sockets, tellMembers, tenantsWithRoom } from '../sockets/tenant-room.ts';
import { followRows } from './follow-rows.ts';

interface Row {
  tenantID: string;
  /** The kind of the asset; newer processes may write kinds that are not known here. */
  entity: string;
  id: string;
  action: 'created' | 'updated' | 'deleted';
  version: number | null;
  changedBy: string | null;
  at: string;
}

/** Tells sockets in the rooms of tenants which assets have changed. */
export function startAssetChanges(sockets: Sockets, context: RoomContext): Disposable {
  return followRows<Row>(
    {
      name: 'asset_changes',
      table: 'asset_change',
      owner: 'tenant_id',
      fields: `'tenantID', tenant_id, 'entity', entity, 'id', asset_id, 'action', action, 'version', version,
        'changedBy', changed_by, 'at', created_at`,
      wanted: () => tenantsWithRoom(sockets()),
      async deliver(rows) {
        for (const [tenantID, changes] of Map.groupBy(coalesce(rows), (change) => change.tenantID)) {
          const hear = (member: Member) => findVisible(context, member, changes);
          await tellMembers(sockets, context, { tenantID, event: 'asset_changed', hear });
        }
      },
    },
    context,
  );
}

/** Changed assets of one kind of a tenant that are sent one by one; for more, clients are told to read the list again. */
const MAX_NAMED = 50;

/**
 * Merges rows to one change for each asset: the last, or `created` if the asset is new. Too many of one kind become one
 * without an id.
 */
export function coalesce(rows: readonly Row[]): AssetChange[] {
  const known = rows.filter((row): row is Row & { entity: ChangedAsset } => Object.hasOwn(changedAssets, row.entity));
  const kinds = Map.groupBy(known, ({ tenantID, entity }) => `${tenantID} ${entity}`);
  return [...kinds.values()].flatMap((changes) => {
    const assets = [...Map.groupBy(changes, ({ id }) => id).values()].flatMap(mergeChanges);
    const last = assets.at(-1);
    if (!last || assets.length <= MAX_NAMED) return assets;
    const users = new Set(assets.map(({ changedBy }) => changedBy));
    const changedBy = users.size === 1 ? last.changedBy : null;
    return [{ ...last, id: null, action: 'many' as const, version: null, changedBy }];
  });
}

function mergeChanges(changes: readonly (Row & { entity: ChangedAsset })[]): AssetChange[] {
  const last = changes.at(-1);
  if (!last) return [];
  const isNew = changes[0]?.action === 'created';
  // The asset was created and deleted between two polls, so no client knows it.
  if (isNew && last.action === 'deleted') return [];
  const action = isNew ? 'created' : last.action;
  return [{ ...last, action, at: new Date(last.at).toISOString() }];
}

/**
 * The changes that a user may see: of assets that they may list and read. For a deleted asset, only rules on all of its
 * kind are left.
 */
async function findVisible(
  { access: { policy } }: RoomContext,
  member: Member,
  changes: readonly AssetChange[],
): Promise<AssetChange[]> {
  const visible: AssetChange[] = [];
  for (const change of changes) if (await maySee(policy, member, change)) visible.push(change);
  return visible;
}

async function maySee(policy: Policy, policyCaller: PolicyCaller, { entity, id }: AssetChange): Promise<boolean> {
  const type = changedAssets[entity];
  if ((await scopeOf(policy, policyCaller, `${type}.list`)) === 'none') return false;
  if (id === null) return true;
  // Folders are listed, and not read.
  return policy.can({ ...policyCaller, object: `${type}:${id}`, action: type === 'folder' ? 'list' : 'read' });
}
