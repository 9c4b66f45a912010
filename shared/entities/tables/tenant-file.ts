import type { StoreName } from '../../datasources/files/store.ts';
import { defineEntity, p, tenantFilter } from '../base.ts';

/** The purpose for which a file was uploaded; it is used for nothing else. */
export type FilePurpose = 'datasource' | 'widget' | 'logo';

/** A file that a tenant has uploaded. It never changes: other bytes are another file. */
export const TenantFileSchema = defineEntity({
  name: 'TenantFile',
  tableName: 'tenant_file',
  filters: tenantFilter,
  properties: {
    id: p.uuid().primary(),
    tenantID: p.uuid(),
    fileName: p.string(),
    /** Type found in its bytes, not the type that the client named. */
    fileType: p.string(),
    fileSize: p.integer(),
    /** SHA-256, as hex. */
    digest: p.string(),
    /** The store that has its bytes. */
    store: p.string().$type<StoreName>().default('postgres'),
    purpose: p.string().$type<FilePurpose>().default('datasource'),
    creatorID: p.uuid(),
    createdByApiKeyID: p.uuid().nullable(),
    createdAt: p.datetime().onCreate(() => new Date()),
  },
});

export class TenantFile extends TenantFileSchema.class {}
TenantFileSchema.setClass(TenantFile);
