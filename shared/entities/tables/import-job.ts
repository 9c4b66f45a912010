import type { JsonObject } from '../../core/json.ts';
import { defineEntity, identified, p, tenantFilter } from '../base.ts';

/** An import of a bundle, or the rollback of an import, in the background. Only the latest jobs of a tenant are stored. */
export const ImportJobSchema = defineEntity({
  name: 'ImportJob',
  tableName: 'import_job',
  filters: tenantFilter,
  properties: {
    ...identified,
    tenantID: p.uuid(),
    creatorID: p.uuid(),
    createdByApiKeyID: p.uuid().nullable(),
    /** Whether the request has the token of a plan. */
    isPlanned: p.boolean(),
    /** The import that the job rolls back; null for a job that imports. */
    importID: p.uuid().nullable(),
    /** Sealed JSON of the body; null once the job has ended. */
    request: p.text().nullable(),
    done: p.integer().default(0),
    total: p.integer().nullable(),
    attempts: p.integer().default(0),
    leaseUntil: p.datetime().nullable(),
    /** The status of the response, as the request itself would have had it. */
    status: p.integer().nullable(),
    answer: p.json().$type<JsonObject>().nullable(),
    startedAt: p.datetime().nullable(),
    endedAt: p.datetime().nullable(),
  },
});

export class ImportJob extends ImportJobSchema.class {}
ImportJobSchema.setClass(ImportJob);
