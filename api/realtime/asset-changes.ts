import { type Policy, seesSomething } from '#shared/policy/enforcer.ts';
import { type AssetChange, type ChangedAsset, changedAssets } from '#shared/realtime/asset-changes.ts';
import type { ApiContext } from '../context.ts';
import { followRows } from './follow-rows.ts';
import { requireGrant } from './join.ts';
import { rooms } from './rooms.ts';
import { type ClientSocket, hasRoom } from './socket.ts';

type Context = Pick<ApiContext, 'authenticator' | 'policy' | 'pool' | 'logger'>;

interface Row {
  tenantID: string;
  /** Newer processes may write others. */
  entity: string;
  id: string;
  action: 'created' | 'updated' | 'deleted';
  version: number | null;
  changedBy: string | null;
  at: string;
}

/** Tells sockets in the rooms of tenants which assets have changed. */
export function startAssetChanges(sockets: () => Iterable<ClientSocket>, context: Context): Disposable {
  return followRows<Row>(
    {
      name: 'asset_changes',
      table: 'asset_change',
      owner: 'tenant_id',
      fields: `'tenantID', tenant_id, 'entity', entity, 'id', asset_id, 'action', action, 'version', version,
        'changedBy', changed_by, 'at', created_at`,
      wanted: () => tenantsOf(sockets()),
      deliver: (rows) => sendAssetChanges([...sockets()], context, coalesce(rows)),
    },
    context,
  );
}

function tenantsOf(sockets: Iterable<ClientSocket>): string[] {
  const tenants = [...sockets].flatMap(({ data }) =>
    [...data.rooms].flatMap(([room, { grant }]) => (room === rooms.tenant(grant.tenantID) ? grant.tenantID : [])),
  );
  return [...new Set(tenants)];
}

/** Changed assets of one kind of a tenant that are told one by one; for more, clients read the list again. */
const MAX_NAMED = 50;

/** One change for each asset: the last, and of an asset that was created just now, that. */
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
  // It has come and gone between two looks.
  if (isNew && last.action === 'deleted') return [];
  const action = isNew ? 'created' : last.action;
  return [{ ...last, action, at: new Date(last.at).toISOString() }];
}

/** Slow sockets do not get them: they would be held for them, and the lists say the same. */
async function sendAssetChanges(
  sockets: readonly ClientSocket[],
  context: Context,
  changes: readonly AssetChange[],
): Promise<void> {
  for (const [tenantID, ofTenant] of Map.groupBy(changes, (change) => change.tenantID)) {
    const room = rooms.tenant(tenantID);
    const members = Map.groupBy(
      sockets.filter(({ data }) => data.rooms.has(room)),
      ({ data }) => data.userID,
    );
    for (const [userID, own] of members) {
      const heard = await findHeard(context, { userID, tenantID }, ofTenant);
      for (const socket of own) send(socket, room, heard);
    }
  }
}

function send(socket: ClientSocket, room: string, changes: readonly AssetChange[]): void {
  for (const change of changes)
    if (socket.data.rooms.has(room) && hasRoom(socket)) socket.emit('asset_changed', change);
}

/** What the user may list and read. A deleted asset has no rules of its own any more: only those on all of its kind count. */
async function findHeard(
  context: Context,
  { userID, tenantID }: { userID: string; tenantID: string },
  changes: readonly AssetChange[],
): Promise<AssetChange[]> {
  try {
    const version = await requireGrant(context, userID, { tenantID });
    const heard: AssetChange[] = [];
    for (const change of changes)
      if (await mayHear(context.policy, { tenantID, version, subjects: [userID] }, change)) heard.push(change);
    return heard;
  } catch (error) {
    context.logger.debug({ err: error }, 'changes of assets are not sent to a user who is no member');
    return [];
  }
}

async function mayHear(
  policy: Policy,
  asker: { tenantID: string; version: number; subjects: string[] },
  { entity, id }: AssetChange,
): Promise<boolean> {
  const type = changedAssets[entity];
  if (!seesSomething(await policy.sights({ ...asker, type, action: 'list' }))) return false;
  if (id === null) return true;
  // Folders are listed, and not read.
  return policy.can({ ...asker, object: `${type}:${id}`, action: type === 'folder' ? 'list' : 'read' });
}
