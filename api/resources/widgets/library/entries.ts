import type { z } from 'zod';
import { AppError } from '#shared/core/errors.ts';
import { newID } from '#shared/core/ids.ts';
import type { EntityManager } from '#shared/entities/orm.ts';
import { WidgetLibraryEntry } from '#shared/entities/tables/widget-library-entry.ts';
import { asStoredConfig } from '../../../assets/config-size.ts';
import { containing, findPage } from '../../../http/fields/paging.ts';
import { checkBindings } from '../config.ts';
import { type Bundle, type Entries, type Entry, type EntryList, StoredBundle } from './schemas.ts';

/** The viewer of an entry. A tenant does not see who has published the entries of other tenants. */
type Viewer = { tenantID: string } | 'operator';

export function presentEntry(entry: WidgetLibraryEntry, viewer: Viewer): z.input<typeof Entry> {
  const { id, widgetTitle, widgetType } = entry;
  const isOwn = viewer !== 'operator' && entry.sourceTenantID === viewer.tenantID;
  const isShown = isOwn || viewer === 'operator';
  return {
    id,
    libraryEntryID: id,
    widgetTitle,
    widgetDescription: entry.widgetDescription ?? null,
    widgetType,
    isOwn,
    sourceTenantID: isShown ? (entry.sourceTenantID ?? null) : null,
    publishedByUserID: isShown ? (entry.publishedByUserID ?? null) : null,
    createdAt: entry.createdAt.toISOString(),
    updatedAt: entry.updatedAt.toISOString(),
  };
}

export async function listEntries(
  em: EntityManager,
  query: z.output<typeof EntryList>,
  viewer: Viewer,
): Promise<z.input<typeof Entries>> {
  const where = query.search ? { widgetTitle: containing(query.search) } : {};
  const { rows, fields } = await findPage(em, WidgetLibraryEntry, { where, query, exclude: ['bundle'] });
  return { entries: rows.map((row) => presentEntry(row, viewer)), ...fields };
}

/** Writes an entry; nothing of the bundle but the widget itself is kept. */
export async function publishEntry(
  em: EntityManager,
  bundle: Bundle,
  by: { sourceTenantID: string | null; publishedByUserID: string | null },
): Promise<WidgetLibraryEntry> {
  const [item] = bundle.items;
  if (!item) throw new Error('The schema of a bundle wants one widget');
  const { widgetTitle, widgetDescription, widgetType, widgetConfig } = item.payload;
  checkBindings(widgetConfig, ['bundle', 'items', 0, 'payload', 'widgetConfig']);
  const stored = asStoredConfig(StoredBundle.parse(bundle), ['bundle']);
  const values = { id: newID(), widgetTitle, widgetDescription, widgetType, bundle: stored, ...by };
  const entry = em.create(WidgetLibraryEntry, values);
  await em.persist(entry).flush();
  return entry;
}

export async function getEntry(em: EntityManager, id: string): Promise<WidgetLibraryEntry> {
  const entry = await em.findOne(WidgetLibraryEntry, { id });
  if (!entry) throw noEntry();
  return entry;
}

export function noEntry(): AppError {
  return new AppError('NOT_FOUND', 'Library entry not found');
}
