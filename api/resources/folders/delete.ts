import { LockMode } from '@mikro-orm/postgresql';
import { z } from 'zod';
import { onEntities } from '#shared/db/query.ts';
import { Folder } from '#shared/entities/tables/folder.ts';
import { deleteAsset } from '../../assets/assets.ts';
import { foldered } from '../../assets/folders.ts';
import { tenantRoute } from '../../context/routes.ts';
import { Message } from '../../http/fields/response-parts.ts';
import { lockTree } from './find.ts';
import { recordMoves } from './record-moves.ts';
import { FolderID } from './schemas.ts';

export const deleteFolder = tenantRoute({
  name: 'deleteFolder',
  method: 'delete',
  path: '/folders/:folderID',
  summary: 'Delete a folder',
  description:
    'Deletes a folder and nothing that is in it: the folders move to the folder above, and the assets are in no folder.',
  permission: 'folder.delete',
  object: ({ params }) => `folder:${params.folderID}`,
  params: FolderID,
  response: z.object({ message: Message }),

  async handle({ params: { folderID }, em, tenantID }) {
    await em.transactional(async (tx) => {
      const { folder } = await lockTree(tx, folderID);
      const { entityType, parentFolderID: to = null } = folder;
      const { entity } = foldered[entityType];
      const query = onEntities(tx);
      const inside = await tx.find(Folder, { parentFolderID: folderID }, { fields: ['id'] });
      const folders = inside.map(({ id }) => ({ id, folderID }));
      await recordMoves(query, tenantID, { assetType: 'folder', assets: folders, to, field: 'parentFolderID' });
      await tx.nativeUpdate(Folder, { parentFolderID: folderID }, { parentFolderID: to });
      const fields = ['id', 'folderID'] as const;
      const assets = await tx.find(entity, { folderID }, { fields, lockMode: LockMode.PESSIMISTIC_WRITE });
      await recordMoves(query, tenantID, { assetType: entityType, assets, to: null });
      await tx.nativeUpdate(entity, { folderID }, { folderID: null });
      await deleteAsset(tx, 'folder', folder);
    });
    return { message: 'Folder deleted' };
  },
});
