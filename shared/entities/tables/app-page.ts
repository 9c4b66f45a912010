import type { JsonObject } from '../../core/json.ts';
import { defineEntity, owned, p, tenantFilter } from '../base.ts';

/** A page of an application: its layout, and the queries and workflows that it binds. A trigger deletes its versions with it. */
export const AppPageSchema = defineEntity({
  name: 'AppPage',
  tableName: 'app_page',
  filters: tenantFilter,
  properties: {
    ...owned,
    appPageTitle: p.string(),
    appPageDescription: p.text().nullable(),
    appPageConfig: p.json().$type<JsonObject>(),
    /** Whether the page is a draft, which runs nothing for its viewers and may bind what its authors may not execute. */
    isDraft: p.boolean().default(false),
    /** The number of its latest version, which has the same content. */
    versionNumber: p.integer().default(1),
  },
});

export class AppPage extends AppPageSchema.class {}
AppPageSchema.setClass(AppPage);
