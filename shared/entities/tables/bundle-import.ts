import type { JsonObject } from '../../core/json.ts';
import { defineEntity, identified, p, tenantFilter } from '../base.ts';

/** What an import of a bundle has done, and what was there before. The latest ones are kept. */
export const BundleImportSchema = defineEntity({
  name: 'BundleImport',
  tableName: 'bundle_import',
  filters: tenantFilter,
  properties: {
    ...identified,
    tenantID: p.uuid(),
    creatorID: p.uuid(),
    createdByApiKeyID: p.uuid().nullable(),
    createdCount: p.integer(),
    updatedCount: p.integer(),
    rolledBackAt: p.datetime().nullable(),
    rolledBackBy: p.uuid().nullable(),
    /** In the order in which the items were written. */
    changes: p.json().$type<JsonObject[]>(),
  },
});

export class BundleImport extends BundleImportSchema.class {}
BundleImportSchema.setClass(BundleImport);
