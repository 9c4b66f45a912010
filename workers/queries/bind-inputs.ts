import type { JsonObject } from '#shared/json.ts';
import { type BoundQuery, bindQuery } from '#shared/queries/bind.ts';
import { QueryOptions } from '#shared/queries/options.ts';
import { resolveInputs } from '#shared/workflow/inputs.ts';
import { fromZod, invalid } from '#shared/workflow/issues.ts';
import { definitionOf } from './datasources.ts';
import type { LoadedQuery } from './load-query.ts';

/** A query with its inputs in place. */
export interface RunnableQuery extends LoadedQuery {
  options: QueryOptions;
  inputs: JsonObject;
  bound: BoundQuery;
}

/** Inputs in their declared types, put into the places where the query names them. */
export function bindInputs(query: LoadedQuery, values: JsonObject): RunnableQuery {
  const parsed = QueryOptions.safeParse(query.dataQueryOptions);
  if (!parsed.success) throw invalid(fromZod(parsed.error));
  const options = parsed.data;
  const inputs = resolveInputs(options.inputDefinitions, values);
  const bound = bindQuery(definitionOf(query.datasourceType), query.dataQueryOptions, inputs);
  return { ...query, options, inputs, bound };
}
