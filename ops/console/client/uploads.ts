import { infiniteQueryOptions } from '@tanstack/react-query';
import { body, rest } from './rest.ts';
import type { Schemas } from './types.ts';

export type UploadedFile = Schemas['WidgetUpload'];

export const uploadsKey = (tenantID: string) => ['widget-uploads', tenantID];

/** The files that were uploaded for widgets, newest first. */
export function uploadsRead(tenantID: string) {
  return infiniteQueryOptions({
    queryKey: uploadsKey(tenantID),
    queryFn: ({ pageParam: cursor }) => {
      const query = { limit: 50, ...(cursor && { cursor }) };
      return body(rest.GET('/api/v1/tenants/{tenantID}/widgets/uploads', { params: { path: { tenantID }, query } }));
    },
    initialPageParam: '',
    getNextPageParam: ({ nextCursor }) => nextCursor,
  });
}
