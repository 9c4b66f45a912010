import { queryOptions } from '@tanstack/react-query';
import { body, rest } from './rest.ts';
import type { Schemas } from './types.ts';

export type WidgetTypes = Readonly<Record<string, Schemas['WidgetForm']>>;

/** The types of widgets, with their forms. */
export function widgetTypesRead(tenantID: string) {
  return queryOptions({
    queryKey: ['widget-types', tenantID],
    queryFn: async (): Promise<WidgetTypes> => {
      const params = { path: { tenantID } };
      return (await body(rest.GET('/api/v1/tenants/{tenantID}/widgets/schemas', { params }))).schemas;
    },
    staleTime: Number.POSITIVE_INFINITY,
  });
}
