import { invalidField } from '#shared/core/schema/issues.ts';
import type { Folder } from '#shared/entities/tables/folder.ts';
import { tenantRoute } from '../../context/routes.ts';
import { lockTree } from './find.ts';
import { presentFolder } from './present.ts';
import { Changed, FolderID, FolderUpdate } from './schemas.ts';

export const updateFolder = tenantRoute({
  name: 'updateFolder',
  method: 'patch',
  path: '/folders/:folderID',
  summary: 'Update a folder',
  description: 'Changes the title, or moves the folder with all that is in it.',
  permission: 'folder.update',
  object: ({ params }) => `folder:${params.folderID}`,
  params: FolderID,
  body: FolderUpdate,
  response: Changed,

  async handle({ params, body: { folderTitle, parentFolderID }, em }) {
    return em.transactional(async (tx) => {
      const { folder, tree } = await lockTree(tx, params.folderID);
      if (parentFolderID) requireNoCycle(tree, folder.id, parentFolderID);
      tx.assign(folder, { folderTitle, parentFolderID }, { ignoreUndefined: true });
      await tx.flush();
      return { folder: presentFolder(folder), message: 'Folder updated' };
    });
  },
});

function requireNoCycle(tree: readonly Folder[], id: string, parentID: string): void {
  const parents = new Map(tree.map((folder) => [folder.id, folder.parentFolderID ?? null]));
  if (!parents.has(parentID)) throw invalidField('parentFolderID', 'there is no such folder of the same type');
  for (let at: string | null | undefined = parentID; at; at = parents.get(at))
    if (at === id) throw invalidField('parentFolderID', 'is the folder itself, or in it');
}
