import type { Query } from '#shared/db/query.ts';
import type { Foldered } from '../../assets/folders.ts';
import { recordChanges } from '../../audit/changes.ts';

interface Moves {
  assetType: string;
  assets: readonly Pick<Foldered, 'id' | 'folderID'>[];
  to: string | null;
  /** The field that names the folder around an asset: `parentFolderID` if folders are moved. */
  field?: 'folderID' | 'parentFolderID';
}

/** Records which assets a statement moves, in its transaction. */
export async function recordMoves(
  query: Query,
  tenantID: string,
  { assetType, assets, to, field = 'folderID' }: Moves,
): Promise<void> {
  const moved = assets.filter(({ folderID }) => (folderID ?? null) !== to);
  const changes = moved.map(({ id, folderID }) => ({
    assetType,
    assetID: id,
    action: 'update' as const,
    changes: { [field]: { from: folderID ?? null, to } },
  }));
  await recordChanges(query, tenantID, changes);
}
