import { queryOptions } from '@tanstack/react-query';
import { every } from './every.ts';
import { body, rest } from './rest.ts';
import type { Schemas } from './types.ts';

const WORKFLOWS = '/api/v1/tenants/{tenantID}/workflows';

export type Delivery = Schemas['WorkflowDelivery'];
export type DeliveryAttempt = Schemas['DeliveryAttempt'];

interface RunIDs {
  tenantID: string;
  instanceID: string;
}

/** Notices of a run's end to its receiver; read again until one was delivered, or no more are tried. */
export function deliveriesRead(path: RunIDs) {
  return queryOptions({
    queryKey: ['deliveries', path],
    queryFn: async () => {
      const { deliveries } = await body(
        rest.GET(`${WORKFLOWS}/instances/{instanceID}/deliveries`, { params: { path } }),
      );
      return deliveries;
    },
    refetchInterval: every((data) => (data?.some(({ status }) => status === 'PENDING') ? 2_000 : false)),
  });
}

export function redeliver(tenantID: string, { deliveryID }: Delivery) {
  const path = { tenantID, deliveryID };
  return body(rest.POST(`${WORKFLOWS}/deliveries/{deliveryID}/redeliver`, { params: { path } }));
}
