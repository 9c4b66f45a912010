import { z } from 'zod';

const notificationKinds = [
  'collectionRequest',
  'cronJobStopped',
  'listenerStopped',
  'tenantJoined',
  'toolApproval',
  'connectionStopped',
  'connectionNotRevoked',
] as const;

/** Sent to every socket of its user as `notification`. A client that is not connected reads the list of notifications later. */
export const Notification = z
  .object({
    notificationID: z.uuid(),
    userID: z.uuid(),
    tenantID: z.uuid(),
    kind: z.enum(notificationKinds),
    title: z.string(),
    description: z.string().nullable(),
    subjectID: z
      .uuid()
      .nullable()
      .describe('The request, cron job, listener, tenant, call of a tool or OAuth connection'),
    actionType: z.literal('link'),
    action: z.string().describe('A path, from the address of the admin UI'),
    actionText: z.string(),
    notifierID: z.string().nullable().describe('`user_<id>`, or null: the service itself'),
    readAt: z.iso.datetime().nullable(),
    createdAt: z.iso.datetime(),
  })
  .meta({
    id: 'Notification',
    examples: [
      {
        notificationID: '01990d3e-5c00-7a10-8000-000000000035',
        userID: '01990d3e-5c00-7a10-8000-000000000002',
        tenantID: '01990d3e-5c00-7a10-8000-000000000001',
        kind: 'collectionRequest',
        title: 'Your approval is awaited',
        description: 'Refunds: Refund of order 7',
        subjectID: '01990d3e-5c00-7a10-8000-00000000000a',
        actionType: 'link',
        action:
          '../tenants/01990d3e-5c00-7a10-8000-000000000001/workflows/data-collection/01990d3e-5c00-7a10-8000-00000000000a',
        actionText: 'Answer',
        notifierID: null,
        readAt: null,
        createdAt: '2026-03-05T14:05:12.480Z',
      },
    ],
  });
export type Notification = z.infer<typeof Notification>;
