import type { JsonObject } from '../../core/json.ts';
import { defineEntity, identified, p } from '../base.ts';

/** A widget that every tenant of the deployment can install. It belongs to no tenant, so there is no filter by tenant. */
export const WidgetLibraryEntrySchema = defineEntity({
  name: 'WidgetLibraryEntry',
  tableName: 'widget_library_entry',
  properties: {
    ...identified,
    widgetTitle: p.string(),
    widgetDescription: p.text().nullable(),
    widgetType: p.string(),
    bundle: p.json().$type<JsonObject>(),
    /** The tenant that has published the widget; null if an operator has. */
    sourceTenantID: p.uuid().nullable(),
    publishedByUserID: p.uuid().nullable(),
  },
});

export class WidgetLibraryEntry extends WidgetLibraryEntrySchema.class {}
WidgetLibraryEntrySchema.setClass(WidgetLibraryEntry);
