import { infiniteQueryOptions } from '@tanstack/react-query';
import { body, rest } from './rest.ts';
import type { Schemas } from './types.ts';

const CHUNKS = '/api/v1/tenants/{tenantID}/workflows/instances/{instanceID}/maps/{mapID}/chunks';
const PAGE = 20;

export type MapChunk = Schemas['WorkflowMapChunk'];

export interface MapIDs {
  tenantID: string;
  instanceID: string;
  mapID: string;
}

/** The run that works off this item; null before it is started. */
export async function findItem(path: MapIDs, item: number): Promise<string | null> {
  const { chunks } = await body(rest.GET(CHUNKS, { params: { path, query: { item } } }));
  return chunks[0]?.instanceID ?? null;
}

/** The parts of the map with failed items. `failed` says how many there are by now. */
export function failedChunksRead(path: MapIDs, failed: number) {
  return infiniteQueryOptions({
    queryKey: ['failed-chunks', path, failed],
    queryFn: ({ pageParam }) => {
      const query = { failed: 'true', limit: PAGE, ...(pageParam && { cursor: Number(pageParam) }) } as const;
      return body(rest.GET(CHUNKS, { params: { path, query } }));
    },
    initialPageParam: '',
    getNextPageParam: ({ nextCursor }) => nextCursor,
    enabled: failed > 0,
  });
}
