import { keepPreviousData, queryOptions } from '@tanstack/react-query';
import createClient from 'openapi-fetch';
import type { paths } from '../../client/rest.ts';
import { APIError, body } from '../client/rest.ts';

/** While the room tells nothing: a lost connection, or a session that has ended, which this finds out. */
const EVERY_MS = 5_000;
export const unlessLive = (isLive: boolean) => ({ refetchInterval: isLive ? (false as const) : EVERY_MS });

/** The board answers the addresses of the API that these pages need, by the session of its cookie. */
const board = createClient<paths>({ baseUrl: location.origin });
board.use({
  async onResponse({ response }) {
    if (response.ok) return;
    if (response.status === 401) location.assign('/login');
    const answer = await response
      .clone()
      .json()
      .catch(() => ({}));
    const { code = 'UNAVAILABLE', message = `The board answered ${response.status}` } = answer.error ?? {};
    throw new APIError({ status: response.status, code, message });
  },
});

export const fleetRead = queryOptions({
  queryKey: ['fleet'],
  queryFn: () => body(board.GET('/api/v1/operator/fleet')),
});

export function tenantRead(tenantID: string) {
  return queryOptions({
    queryKey: ['fleet', tenantID],
    queryFn: () => body(board.GET('/api/v1/operator/fleet/tenants/{tenantID}', { params: { path: { tenantID } } })),
  });
}

export function foundRead(search: string | undefined) {
  return queryOptions({
    queryKey: ['found', search],
    queryFn: async () => {
      const params = { query: { search: search ?? '' } };
      return (await body(board.GET('/api/v1/operator/fleet/tenants', { params }))).tenants;
    },
    enabled: search !== undefined,
    placeholderData: keepPreviousData,
  });
}
