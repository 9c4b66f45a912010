import { z } from 'zod';
import { idOf } from '#shared/core/schema/reference.ts';
import { folderedTypes } from '#shared/entities/tables/folder.ts';
import { ID } from '../../http/fields/id.ts';
import { explorerPage, pageFields, pageQuery } from '../../http/fields/paging.ts';
import { Message } from '../../http/fields/response-parts.ts';
import { Title } from '../../http/fields/text.ts';
import { exampleFolder, exampleFolderCreate, exampleFolderUpdate, exampleMove } from './examples.ts';

export const FolderID = z.object({ folderID: idOf('folder') });

const EntityType = z.enum(folderedTypes).describe('The kind of assets that the folder holds');
const Parent = idOf('folder').nullish().describe('The folder in which it is; null at the top');
const MAX_MOVED = 1_000;

export const FolderCreate = z
  .object({ entityType: EntityType, folderTitle: Title, parentFolderID: Parent })
  .meta({ id: 'FolderCreate', examples: [exampleFolderCreate] });

export const FolderUpdate = z
  .object({ folderTitle: Title.optional(), parentFolderID: Parent })
  .meta({ id: 'FolderUpdate', examples: [exampleFolderUpdate] });

export const FolderMove = z
  .object({
    entityType: EntityType,
    entityIDs: z.array(ID).min(1).max(MAX_MOVED),
    folderID: idOf('folder').nullish().describe('Null or left out: out of every folder'),
  })
  .meta({ id: 'FolderMove', examples: [exampleMove] });

export const FolderList = z.object({
  ...pageQuery(explorerPage),
  entityType: EntityType,
  search: z.string().max(255).optional().describe('A part of the title'),
});

export const Folder = z
  .object({
    id: z.uuid(),
    tenantID: z.uuid(),
    entityType: EntityType,
    folderTitle: z.string(),
    parentFolderID: z.uuid().nullable(),
    creatorID: z.uuid(),
    createdByApiKeyID: z.uuid().nullable(),
    createdAt: z.iso.datetime(),
    updatedAt: z.iso.datetime(),
  })
  .meta({ id: 'Folder', examples: [exampleFolder] });

export const Folders = z.object({ folders: z.array(Folder), ...pageFields }).meta({ id: 'FolderPage' });
export const Changed = z.object({ folder: Folder, message: Message });
export const Moved = z.object({ moved: z.int().describe('How many assets are in the folder now'), message: Message });
