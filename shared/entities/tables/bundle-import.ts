import type { JsonObject } from '../../core/json.ts';
import { defineEntity, identified, p, tenantFilter } from '../base.ts';

/** The changes that an import of a bundle has made, with the state before, for a rollback. Only the latest imports are stored. */
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
    /** The changes, in the order in which they were written. */
    changes: p.json().$type<JsonObject[]>(),
  },
});

export class BundleImport extends BundleImportSchema.class {}
BundleImportSchema.setClass(BundleImport);
