import type { z } from 'zod';
import type { Folder as Entity } from '#shared/entities/tables/folder.ts';
import type { Folder } from './schemas.ts';

export function presentFolder(folder: Entity): z.input<typeof Folder> {
  const { id, tenantID, entityType, folderTitle, creatorID } = folder;
  return {
    ...{ id, tenantID, entityType, folderTitle, creatorID },
    parentFolderID: folder.parentFolderID ?? null,
    createdByApiKeyID: folder.createdByApiKeyID ?? null,
    createdAt: folder.createdAt.toISOString(),
    updatedAt: folder.updatedAt.toISOString(),
  };
}
