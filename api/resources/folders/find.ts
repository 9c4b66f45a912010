import { LockMode } from '@mikro-orm/postgresql';
import { AppError } from '#shared/core/errors.ts';
import type { EntityManager } from '#shared/entities/orm.ts';
import { Folder } from '#shared/entities/tables/folder.ts';

export async function getFolder(em: EntityManager, id: string): Promise<Folder> {
  const folder = await em.findOne(Folder, { id });
  if (!folder) throw new AppError('NOT_FOUND', 'Folder not found');
  return folder;
}

/**
 * Locks all folders of the folder's kind, in the order of their ids, so that two moves at once cannot put two folders
 * into each other.
 */
export async function lockTree(em: EntityManager, id: string): Promise<{ folder: Folder; tree: readonly Folder[] }> {
  const { entityType } = await getFolder(em, id);
  const options = { orderBy: { id: 'asc' as const }, lockMode: LockMode.PESSIMISTIC_WRITE as const, refresh: true };
  const tree = await em.find(Folder, { entityType }, options);
  const folder = tree.find((one) => one.id === id);
  if (!folder) throw new AppError('NOT_FOUND', 'Folder not found');
  return { folder, tree };
}
