import { type EntityClass, LockMode } from '@mikro-orm/postgresql';
import type { Resource } from '#shared/access/policy/permissions.ts';
import { invalidField } from '#shared/core/schema/issues.ts';
import type { EntityManager } from '#shared/entities/orm.ts';
import { AppPage } from '#shared/entities/tables/app-page.ts';
import { CronJob } from '#shared/entities/tables/cron-job.ts';
import { Dashboard } from '#shared/entities/tables/dashboard.ts';
import { DataQuery } from '#shared/entities/tables/data-query.ts';
import { Datasource } from '#shared/entities/tables/datasource.ts';
import { Folder, type FolderedType } from '#shared/entities/tables/folder.ts';
import { Listener } from '#shared/entities/tables/listener.ts';
import { Widget } from '#shared/entities/tables/widget.ts';
import { Workflow } from '#shared/entities/tables/workflow.ts';

/** A stored asset that may be in a folder. */
export interface Foldered {
  id: string;
  folderID?: string | null;
}

interface Kind {
  resource: Resource;
  entity: EntityClass<Foldered>;
  /** Completes "there is no such …". */
  noun: string;
}

/** Kinds of assets that folders hold. Another kind gets folders by a line here. */
export const foldered: Readonly<Record<FolderedType, Kind>> = {
  workflow: { resource: 'workflow', entity: Workflow, noun: 'workflow' },
  dataQuery: { resource: 'dataquery', entity: DataQuery, noun: 'data query' },
  cronJob: { resource: 'cronjob', entity: CronJob, noun: 'cron job' },
  listener: { resource: 'listener', entity: Listener, noun: 'listener' },
  datasource: { resource: 'datasource', entity: Datasource, noun: 'datasource' },
  dashboard: { resource: 'dashboard', entity: Dashboard, noun: 'dashboard' },
  appPage: { resource: 'appPage', entity: AppPage, noun: 'app page' },
  widget: { resource: 'widget', entity: Widget, noun: 'widget' },
};

/** Undefined for assets that folders do not hold. */
export function folderedTypeOf(resource: Resource): FolderedType | undefined {
  // Safe: the keys of the table are its names.
  return (Object.keys(foldered) as FolderedType[]).find((type) => foldered[type].resource === resource);
}

/**
 * Rejects the id of a folder that does not exist; no id is accepted. Within a transaction, the folder stays locked until
 * its end.
 */
export async function requireFolder(
  em: EntityManager,
  entityType: FolderedType,
  id: string | null | undefined,
  field = 'folderID',
): Promise<void> {
  if (!id) return;
  const lock = em.isInTransaction() ? { lockMode: LockMode.PESSIMISTIC_READ as const } : {};
  if (await em.findOne(Folder, { id, entityType }, lock)) return;
  throw invalidField(field, `there is no such folder of the type ${entityType}`);
}

/**
 * The folder of an asset that is copied; null if it is gone. Assets older than folders may name folders that never
 * existed.
 */
export async function folderOfCopy(
  em: EntityManager,
  entityType: FolderedType,
  { folderID }: Foldered,
): Promise<string | null> {
  if (!folderID) return null;
  return (await em.count(Folder, { id: folderID, entityType })) > 0 ? folderID : null;
}
