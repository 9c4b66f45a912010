import { defineEntity, p } from '../base.ts';

/** A piece of a file, so that no row and no buffer holds the whole file. The row of the file names the tenant. */
export const TenantFileChunkSchema = defineEntity({
  name: 'TenantFileChunk',
  tableName: 'tenant_file_chunk',
  properties: {
    fileID: p.uuid().primary(),
    position: p.integer().primary(),
    bytes: p.blob(),
  },
});

export class TenantFileChunk extends TenantFileChunkSchema.class {}
TenantFileChunkSchema.setClass(TenantFileChunk);
