import { z } from 'zod';
import { JsonObject } from '#shared/json.ts';
import { ID } from '../../http/id.ts';
import { exampleUser, exampleUserConfig } from './examples.ts';

export const TenantID = z.object({ tenantID: ID });

export const User = z
  .object({
    id: z.uuid(),
    userID: z.uuid(),
    email: z.string().nullable(),
    firstName: z.string().nullable(),
    lastName: z.string().nullable(),
    isDisabled: z.boolean(),
    lastSeen: z.iso.datetime().nullable(),
    createdAt: z.iso.datetime(),
    updatedAt: z.iso.datetime(),
  })
  .meta({ id: 'User', examples: [exampleUser] });

export const UserConfigUpdate = z
  .object({ config: JsonObject })
  .meta({ id: 'UserConfigUpdate', examples: [{ config: exampleUserConfig.config }] });

export const UserConfig = z
  .object({
    tenantID: z.uuid(),
    userID: z.uuid(),
    config: z.looseObject({}),
    updatedAt: z.iso.datetime().nullable().describe('Null if nothing is stored'),
  })
  .meta({ id: 'UserConfig', examples: [exampleUserConfig] });
