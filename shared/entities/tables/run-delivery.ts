import { defineEntity, p, tenantFilter } from '../base.ts';

/** An attempt to tell a receiver. Without the other fields it has begun, and its end is not known. */
export interface StoredAttempt {
  number: number;
  at: string;
  durationMs?: number;
  status?: number | null;
  response?: string | null;
  error?: string | null;
}

/** That a receiver is told of the end of a run. Written by a trigger and by workers in SQL; handlers only read it here. */
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
