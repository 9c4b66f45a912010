import { z } from 'zod';
import { JsonObject } from '#shared/json.ts';
import { ID } from '../../http/id.ts';

export const TenantID = z.object({ tenantID: ID });

export const User = z.object({
  id: z.uuid(),
  userID: z.uuid(),
  email: z.string().nullable(),
  firstName: z.string().nullable(),
  lastName: z.string().nullable(),
  isDisabled: z.boolean(),
  lastSeen: z.iso.datetime().nullable(),
  createdAt: z.iso.datetime(),
  updatedAt: z.iso.datetime(),
});

export const UserConfigUpdate = z.object({ config: JsonObject });

export const UserConfig = z.object({
  tenantID: z.uuid(),
  userID: z.uuid(),
  config: z.looseObject({}),
  /** Null until something has been stored. */
  updatedAt: z.iso.datetime().nullable(),
});
