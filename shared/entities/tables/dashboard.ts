import type { JsonObject } from '../../core/json.ts';
import { defineEntity, owned, p, tenantFilter } from '../base.ts';

/** A grid of widgets. A trigger deletes its versions with it. */
export const DashboardSchema = defineEntity({
  name: 'Dashboard',
  tableName: 'dashboard',
  filters: tenantFilter,
  properties: {
    ...owned,
    dashboardTitle: p.string(),
    dashboardDescription: p.text().nullable(),
    dashboardConfig: p.json().$type<JsonObject>(),
    /** The number of its latest version, which has the same content. */
    versionNumber: p.integer().default(1),
  },
});

export class Dashboard extends DashboardSchema.class {}
DashboardSchema.setClass(Dashboard);
