import type { JsonObject } from '../../core/json.ts';
import { defineEntity, identified, p, tenantFilter } from '../base.ts';

/** The changes of a bundle's import, and the state before. The latest imports are stored. */
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
