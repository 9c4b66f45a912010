import { z } from 'zod';
import { Folder } from '#shared/db/entities/folder.ts';
import { deleteAsset } from '../../db/assets.ts';
import { foldered } from '../../db/folders.ts';
import { Message } from '../../http/answer-parts.ts';
import { tenantRoute } from '../../http/route.ts';
import { lockTree } from './find.ts';
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

  async handle({ params: { folderID }, em }) {
    await em.transactional(async (tx) => {
      const { folder } = await lockTree(tx, folderID);
      await tx.nativeUpdate(Folder, { parentFolderID: folderID }, { parentFolderID: folder.parentFolderID ?? null });
      await tx.nativeUpdate(foldered[folder.entityType].entity, { folderID }, { folderID: null });
      await deleteAsset(tx, 'folder', folder);
    });
    return { message: 'Folder deleted' };
  },
});
