import type { JsonObject } from '../../core/json.ts';
import { defineEntity, owned, p, tenantFilter } from '../base.ts';

/** A part of an admin UI. Its config binds data queries. */
export const WidgetSchema = defineEntity({
  name: 'Widget',
  tableName: 'widget',
  filters: tenantFilter,
  properties: {
    ...owned,
    widgetTitle: p.string(),
    widgetDescription: p.text().nullable(),
    /** Any text: types outside of `shared/widgets` have no shape of their own. */
    widgetType: p.string(),
    widgetConfig: p.json().$type<JsonObject>(),
    /** Seconds for which its data may be reused; 0: never. */
    refreshInterval: p.integer().default(0),
    /** Counts changes of what the widget shows. */
    versionNumber: p.integer().default(1),
  },
});

export class Widget extends WidgetSchema.class {}
WidgetSchema.setClass(Widget);
