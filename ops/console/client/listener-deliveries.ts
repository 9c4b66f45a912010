import { queryOptions } from '@tanstack/react-query';
import { every } from './every.ts';
import type { ListenerIDs } from './listeners.ts';
import { body, rest } from './rest.ts';
import type { Schemas } from './types.ts';

const LISTENER = '/api/v1/tenants/{tenantID}/listeners/{listenerID}';

export type TestDelivered = Schemas['ListenerTestDelivered'];

/** The deliveries of the last day that a listener has refused, newest first. */
export function refusalsRead(path: ListenerIDs) {
  return queryOptions({
    queryKey: ['listener-refusals', path],
    queryFn: async () => (await body(rest.GET(`${LISTENER}/refusals`, { params: { path } }))).refusals,
    refetchInterval: every(5_000),
  });
}

/** Delivers as the sender would; with `previews` nothing is sent, and the answer has the command alone. */
export async function sendTestDelivery(
  path: ListenerIDs,
  { previews, ...delivery }: { body?: unknown; headers: Record<string, string>; previews: boolean },
): Promise<TestDelivered> {
  const params = { path, query: previews ? { preview: 'true' as const } : {} };
  const given = delivery as Schemas['ListenerTestDelivery'];
  return body(rest.POST(`${LISTENER}/test-delivery`, { params, body: given }));
}
