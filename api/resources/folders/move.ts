import { LockMode } from '@mikro-orm/postgresql';
import { invalid } from '#shared/core/schema/issues.ts';
import { onEntities } from '#shared/db/query.ts';
import { foldered, requireFolder } from '../../assets/folders.ts';
import { tenantRoute } from '../../context/routes.ts';
import { recordMoves } from './record-moves.ts';
import { FolderMove, Moved } from './schemas.ts';

export const moveToFolder = tenantRoute({
  name: 'moveToFolder',
  method: 'post',
  path: '/folders/move',
  summary: 'Move assets into a folder',
  description: 'Moves assets of one kind into a folder, or out of every folder: all of them or none.',
  access: ({ body: { entityType, entityIDs, folderID } }) => {
    const { resource } = foldered[entityType];
    return [
      { permission: 'folder.update', object: folderID ? `folder:${folderID}` : 'folder:*' },
      // Safe: each of these resources has the action.
      ...entityIDs.map((id) => ({
        permission: `${resource}.update` as 'workflow.update',
        object: `${resource}:${id}`,
      })),
    ];
  },
  body: FolderMove,
  response: Moved,
  idempotent: 'transaction',

  async handle({ body: { entityType, entityIDs, folderID = null }, em, tenantID }) {
    const { entity, noun } = foldered[entityType];
    return em.transactional(async (tx) => {
      await requireFolder(tx, entityType, folderID);
      const where = { id: { $in: [...new Set(entityIDs)] } };
      const options = { fields: ['id', 'folderID'] as const, orderBy: { id: 'asc' as const } };
      const found = await tx.find(entity, where, { ...options, lockMode: LockMode.PESSIMISTIC_WRITE });
      const ids = new Set(found.map(({ id }) => id));
      const missing = entityIDs.flatMap((id, at) =>
        ids.has(id) ? [] : [{ path: ['entityIDs', at], message: `there is no such ${noun}` }],
      );
      if (missing.length > 0) throw invalid(missing);
      await recordMoves(onEntities(tx), tenantID, { assetType: entityType, assets: found, to: folderID });
      const moved = await tx.nativeUpdate(entity, where, { folderID });
      return { moved, message: folderID ? 'Moved into the folder' : 'Moved out of folders' };
    });
  },
});
