import type { AuditRecord as Record } from '../../access/audit/records.ts';
import { newID } from '../../core/ids.ts';
import type { JsonObject } from '../../core/json.ts';
import { defineEntity, p, tenantFilter } from '../base.ts';

/** A row of the audit trail. Postgres assigns its position in the trail (`seq`). */
export const AuditRecordSchema = defineEntity({
  name: 'AuditRecord',
  tableName: 'audit_record',
  filters: tenantFilter,
  properties: {
    id: p
      .uuid()
      .primary()
      .onCreate(() => newID()),
    tenantID: p.uuid(),
    kind: p.string().$type<Record['kind']>(),
    entryID: p.uuid().nullable(),
    type: p.string().$type<Record['type']>(),
    action: p.string(),
    userID: p.uuid().nullable(),
    apiKeyID: p.uuid().nullable(),
    path: p.text().nullable(),
    assetType: p.string().nullable(),
    assetID: p.uuid().nullable(),
    status: p.integer().nullable(),
    durationMs: p.integer().nullable(),
    details: p.json().$type<JsonObject>(),
    createdAt: p.datetime().onCreate(() => new Date()),
  },
});

export class AuditRecord extends AuditRecordSchema.class {}
AuditRecordSchema.setClass(AuditRecord);
