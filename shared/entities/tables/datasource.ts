import type { JsonObject } from '../../core/json.ts';
import { defineEntity, owned, p, tenantFilter } from '../base.ts';

/** A database or service of a tenant. Secrets in its options are sealed, with the context in `sealedColumns`. */
export const DatasourceSchema = defineEntity({
  name: 'Datasource',
  tableName: 'datasource',
  filters: tenantFilter,
  properties: {
    ...owned,
    datasourceTitle: p.string(),
    datasourceDescription: p.text().nullable(),
    datasourceType: p.string(),
    datasourceOptions: p.json().$type<JsonObject>(),
    datasourceTags: p.json().$type<string[]>(),
    /** Result of the last test of the stored options. */
    connectionStatus: p.string().$type<'unknown' | 'connected' | 'failed'>().default('unknown'),
    testedAt: p.datetime().nullable(),
  },
});

export class Datasource extends DatasourceSchema.class {}
DatasourceSchema.setClass(Datasource);
