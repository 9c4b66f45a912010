import { runCooperatively } from '#shared/concurrency/cooperative.ts';
import type { JsonObject } from '#shared/core/json.ts';
import { requireValue } from '#shared/core/schema/parse.ts';
import { type BoundQuery, bindQuery } from '#shared/datasources/queries/bind.ts';
import { QueryOptions } from '#shared/datasources/queries/options.ts';
import { resolveInputs } from '#shared/workflow/inputs.ts';
import { definitionOf } from './datasources.ts';
import type { LoadedQuery } from './load-query.ts';
import { queryError } from './query-error.ts';

/** A query whose inputs are bound. */
export interface RunnableQuery extends LoadedQuery {
  options: QueryOptions;
  inputs: JsonObject;
  bound: BoundQuery;
}

/** Converts inputs to their declared types and binds them where the query refers to them. Issues call them `inputValues.<key>`. */
export async function bindInputs(query: LoadedQuery, values: JsonObject): Promise<RunnableQuery> {
  const options = requireValue(QueryOptions, query.dataQueryOptions, ['dataQueryOptions']);
  const inputs = resolveInputs(options.inputDefinitions, values, { field: 'inputValues' });
  const definition = definitionOf(query.datasourceType);
  try {
    return {
      ...query,
      options,
      inputs,
      bound: await runCooperatively(bindQuery(definition, query.dataQueryOptions, inputs)),
    };
  } catch (error) {
    throw queryError(error);
  }
}
