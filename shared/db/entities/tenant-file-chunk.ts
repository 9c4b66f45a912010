import { defineEntity, p } from '../base.ts';

/** A piece of a file, so that no row and no buffer has to hold all of it. Whose it is, its file says. */
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
