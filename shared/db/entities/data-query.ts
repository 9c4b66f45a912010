import type { JsonObject } from '../../json.ts';
import { defineEntity, owned, p, tenantFilter } from '../base.ts';

/** A question to a datasource, with inputs. */
export const DataQuerySchema = defineEntity({
  name: 'DataQuery',
  tableName: 'data_query',
  filters: tenantFilter,
  properties: {
    ...owned,
    dataQueryTitle: p.string(),
    dataQueryDescription: p.text().nullable(),
    dataQueryOptions: p.json().$type<JsonObject>(),
    /** Null where the type is the whole address: `tenantdb`. */
    datasourceID: p.uuid().nullable(),
    datasourceType: p.string(),
    runOnLoad: p.boolean().default(false),
    isDisabled: p.boolean().default(false),
  },
});

export class DataQuery extends DataQuerySchema.class {}
DataQuerySchema.setClass(DataQuery);
