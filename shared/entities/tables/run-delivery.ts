import { defineEntity, p, tenantFilter } from '../base.ts';

/** An attempt to notify a receiver. Without the optional fields, the attempt has begun and its outcome is not known. */
export interface StoredAttempt {
  number: number;
  at: string;
  durationMs?: number;
  status?: number | null;
  response?: string | null;
  error?: string | null;
}

/** The notification of a receiver about the end of a run. Written by a trigger and by workers in SQL; handlers only read it here. */
export const RunDeliverySchema = defineEntity({
  name: 'RunDelivery',
  tableName: 'run_delivery',
  filters: tenantFilter,
  properties: {
    id: p.uuid().primary(),
    instanceID: p.uuid(),
    tenantID: p.uuid(),
    workflowID: p.uuid(),
    url: p.text(),
    status: p.string().$type<'PENDING' | 'DELIVERED' | 'FAILED'>(),
    nextAt: p.datetime().nullable(),
    attempts: p.json().$type<StoredAttempt[]>(),
    createdAt: p.datetime(),
    settledAt: p.datetime().nullable(),
  },
});

export class RunDelivery extends RunDeliverySchema.class {}
RunDeliverySchema.setClass(RunDelivery);
