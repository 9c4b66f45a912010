import { z } from 'zod';
import { Folder as Entity } from '#shared/entities/tables/folder.ts';
import { tenantRoute } from '../../context/routes.ts';
import { containing, findPage } from '../../http/fields/paging.ts';
import { createFolder } from './create.ts';
import { deleteFolder } from './delete.ts';
import { getFolder } from './find.ts';
import { moveToFolder } from './move.ts';
import { presentFolder } from './present.ts';
import { Folder, FolderID, FolderList, Folders } from './schemas.ts';
import { updateFolder } from './update.ts';

export const folderRoutes = [
  tenantRoute({
    name: 'listFolders',
    method: 'get',
    path: '/folders',
    summary: 'List folders',
    description: 'Returns the folders of one kind of assets, flat: each names the folder in which it is.',
    permission: 'folder.list',
    filter: true,
    query: FolderList,
    response: Folders,

    async handle({ query, em, visible }) {
      const { entityType, search } = query;
      const where = {
        ...(await visible('folder.list')),
        entityType,
        ...(search && { folderTitle: containing(search) }),
      };
      const { rows, fields } = await findPage(em, Entity, { where, query });
      return { folders: rows.map(presentFolder), ...fields };
    },
  }),

  createFolder,
  moveToFolder,

  tenantRoute({
    name: 'getFolder',
    method: 'get',
    path: '/folders/:folderID',
    summary: 'Get a folder',
    description: 'Returns a folder.',
    permission: 'folder.list',
    object: ({ params }) => `folder:${params.folderID}`,
    params: FolderID,
    response: z.object({ folder: Folder }),

    async handle({ params, em }) {
      return { folder: presentFolder(await getFolder(em, params.folderID)) };
    },
  }),

  updateFolder,
  deleteFolder,
];
