import { defineEntity, identified, p, tenantFilter } from '../base.ts';

/** The kinds of assets that folders hold; a tree of folders holds one kind. */
export const folderedTypes = [
  'workflow',
  'dataQuery',
  'cronJob',
  'listener',
  'datasource',
  'widget',
  'dashboard',
  'appPage',
] as const;
export type FolderedType = (typeof folderedTypes)[number];

export const FolderSchema = defineEntity({
  name: 'Folder',
  tableName: 'folder',
  filters: tenantFilter,
  properties: {
    ...identified,
    tenantID: p.uuid(),
    creatorID: p.uuid(),
    createdByApiKeyID: p.uuid().nullable(),
    folderTitle: p.string(),
    entityType: p.string().$type<FolderedType>(),
    /** Null at the top of the tree. */
    parentFolderID: p.uuid().nullable(),
  },
});

export class Folder extends FolderSchema.class {}
FolderSchema.setClass(Folder);
