import type { Caller } from '../../core/caller.ts';
import { defineEntity, p, tenantFilter } from '../base.ts';

/** Record of one execution of a query: caller, duration, size of the result, error; not the result itself. */
export const QueryRunSchema = defineEntity({
  name: 'QueryRun',
  tableName: 'query_run',
  filters: tenantFilter,
  properties: {
    id: p.uuid().primary(),
    tenantID: p.uuid(),
    /** Null for a query that is not stored. */
    dataQueryID: p.uuid().nullable(),
    datasourceID: p.uuid().nullable(),
    datasourceType: p.string(),
    caller: p.json().$type<Caller>(),
    startedAt: p.datetime(),
    durationMs: p.integer(),
    rowCount: p.integer().nullable(),
    isCached: p.boolean().default(false),
    errorCode: p.string().nullable(),
    errorMessage: p.text().nullable(),
  },
});

export class QueryRun extends QueryRunSchema.class {}
QueryRunSchema.setClass(QueryRun);
