import { inEntityTransaction } from '#shared/db/query.ts';
import { Folder } from '#shared/entities/tables/folder.ts';
import { createAsset } from '../../assets/assets.ts';
import { requireFolder } from '../../assets/folders.ts';
import { tenantRoute } from '../../context/routes.ts';
import { presentFolder } from './present.ts';
import { Changed, FolderCreate } from './schemas.ts';

export const createFolder = tenantRoute({
  name: 'createFolder',
  method: 'post',
  path: '/folders',
  summary: 'Create a folder',
  description: 'Creates a folder for assets of one kind, at the top or in another folder of that kind.',
  status: 201,
  permission: 'folder.create',
  body: FolderCreate,
  response: Changed,
  idempotent: 'transaction',

  async handle({ body: { entityType, folderTitle, parentFolderID }, caller, em, newAssetID }) {
    return inEntityTransaction(em, async () => {
      await requireFolder(em, entityType, parentFolderID, 'parentFolderID');
      const values = { id: newAssetID(), entityType, folderTitle, parentFolderID: parentFolderID ?? null };
      const folder = await createAsset(em, caller, 'folder', Folder, values);
      return { folder: presentFolder(folder), message: 'Folder created' };
    });
  },
});
