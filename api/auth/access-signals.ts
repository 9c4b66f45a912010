import { z } from 'zod';

/** Channel on which whoever takes something from a user tells the processes to which that user is connected. */
export const ACCESS_CHANNEL = 'access';

/** Without a tenant: in all of them. */
export const AccessSignal = z.object({ tenantID: z.uuid().optional(), userID: z.uuid() });
export type AccessSignal = z.infer<typeof AccessSignal>;
