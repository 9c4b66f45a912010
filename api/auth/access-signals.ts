import { z } from 'zod';

/** Channel that tells every API process when a user has lost access, so that it checks the user's sockets. */
export const ACCESS_CHANNEL = 'access';

/** A user who has lost access to a tenant; without `tenantID`, to all tenants. */
export const AccessSignal = z.object({ tenantID: z.uuid().optional(), userID: z.uuid() });
export type AccessSignal = z.infer<typeof AccessSignal>;
