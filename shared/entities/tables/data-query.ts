import type { JsonObject } from '../../core/json.ts';
import { defineEntity, owned, p, tenantFilter } from '../base.ts';

/** A query of a datasource, with inputs. */
export const DataQuerySchema = defineEntity({
  name: 'DataQuery',
  tableName: 'data_query',
  filters: tenantFilter,
  properties: {
    ...owned,
    dataQueryTitle: p.string(),
    dataQueryDescription: p.text().nullable(),
    dataQueryOptions: p.json().$type<JsonObject>(),
    /** Null for the types that need no datasource, such as `tenantdb`. */
    datasourceID: p.uuid().nullable(),
    datasourceType: p.string(),
    runOnLoad: p.boolean().default(false),
    isDisabled: p.boolean().default(false),
    /** Whether clients of models get it as a tool of its own. */
    isOfferedAsTool: p.boolean().default(false),
  },
});

export class DataQuery extends DataQuerySchema.class {}
DataQuerySchema.setClass(DataQuery);
