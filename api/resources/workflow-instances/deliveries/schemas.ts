import { z } from 'zod';
import { idOf } from '#shared/core/schema/reference.ts';
import { pageFields, pageQuery, standardPage } from '../../../http/fields/paging.ts';
import { exampleDelivery } from '../examples.ts';

export const DeliveryID = z.object({ deliveryID: idOf('delivery') });

const Status = z.enum(['PENDING', 'DELIVERED', 'FAILED']).meta({ id: 'DeliveryStatus' });

const Attempt = z
  .object({
    number: z.int(),
    at: z.iso.datetime(),
    durationMs: z.int().nullable().describe('Null while it is under way, and if its worker was lost'),
    status: z.int().nullable().describe('Of the answer; null if there was none'),
    response: z.string().nullable().describe('The beginning of the answer'),
    error: z.string().nullable().describe('Why there was no answer'),
  })
  .meta({ id: 'DeliveryAttempt' });

export const Delivery = z
  .object({
    deliveryID: z.uuid().describe('The `webhook-id` of every attempt'),
    instanceID: z.uuid(),
    workflowID: z.uuid(),
    url: z.string(),
    status: Status.describe('`FAILED`: it is not tried again by itself'),
    attempts: z.array(Attempt).describe('The latest 30, oldest first'),
    nextAttemptAt: z.iso.datetime().nullable(),
    createdAt: z.iso.datetime().describe('When the run ended'),
    settledAt: z.iso.datetime().nullable(),
  })
  .meta({ id: 'WorkflowDelivery', examples: [exampleDelivery] });

export const DeliveryList = z.object({ ...pageQuery(standardPage), status: Status.optional() });

export const Deliveries = z
  .object({ deliveries: z.array(Delivery), ...pageFields })
  .meta({ id: 'WorkflowDeliveryPage' });
