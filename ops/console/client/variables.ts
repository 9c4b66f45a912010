import { keepPreviousData, queryOptions } from '@tanstack/react-query';
import { body, rest } from './rest.ts';
import type { Schemas } from './types.ts';

const VARIABLES = '/api/v1/tenants/{tenantID}/variables';
const VARIABLE = `${VARIABLES}/{variableID}` as const;

export type Variable = Schemas['Variable'];

export interface VariableIDs {
  tenantID: string;
  variableID: string;
}

export function variablesRead(tenantID: string, filter: { search?: string; cursor?: string }) {
  return queryOptions({
    queryKey: ['variables', tenantID, filter],
    queryFn: () => body(rest.GET(VARIABLES, { params: { path: { tenantID }, query: { ...filter, limit: 50 } } })),
    placeholderData: keepPreviousData,
  });
}

/** Pages of variables that are read for a choice. */
const MAX_PAGES = 5;

/** The variables that the caller may read, as many as a choice needs, and whether there are more. */
export function knownVariablesRead(tenantID: string) {
  return queryOptions({
    queryKey: ['variables', tenantID, 'known'],
    async queryFn() {
      const known: Variable[] = [];
      let cursor: string | undefined;
      for (let page = 0; page < MAX_PAGES; page += 1) {
        const query = { limit: 100, ...(cursor !== undefined && { cursor }) };
        const { variables, nextCursor } = await body(rest.GET(VARIABLES, { params: { path: { tenantID }, query } }));
        known.push(...variables);
        if (nextCursor === null) return { variables: known, hasMore: false };
        cursor = nextCursor;
      }
      return { variables: known, hasMore: true };
    },
    staleTime: 30_000,
  });
}

export function variableUsageRead({ tenantID, variableID }: VariableIDs) {
  return queryOptions({
    queryKey: ['variables', tenantID, 'usage', variableID],
    queryFn: () => body(rest.GET(`${VARIABLE}/usage`, { params: { path: { tenantID, variableID } } })),
    // Workflows are saved elsewhere.
    staleTime: 0,
  });
}

export async function createVariable(tenantID: string, variable: Schemas['VariableCreate']): Promise<void> {
  await body(rest.POST(VARIABLES, { params: { path: { tenantID } }, body: variable }));
}

export async function updateVariable(path: VariableIDs, change: Schemas['VariableUpdate']): Promise<void> {
  await body(rest.PATCH(VARIABLE, { params: { path }, body: change }));
}

/** With `force` also one that published workflows use. */
export async function deleteVariable(path: VariableIDs, force: boolean): Promise<void> {
  await body(rest.DELETE(VARIABLE, { params: { path, query: { force: force ? 'true' : 'false' } } }));
}
