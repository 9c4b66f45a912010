import { z } from 'zod';
import { Settings } from '#shared/core/json.ts';
import { looseObject } from '#shared/core/record.ts';
import { idOf } from '#shared/core/schema/reference.ts';
import { exampleSignIn, exampleUser, exampleUserConfig } from './examples.ts';

export const TenantID = z.object({ tenantID: idOf('tenant') });

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
  .object({ config: Settings })
  .meta({ id: 'UserConfigUpdate', examples: [{ config: exampleUserConfig.config }] });

export const UserConfig = z
  .object({
    tenantID: z.uuid(),
    userID: z.uuid(),
    config: looseObject({}),
    updatedAt: z.iso.datetime().nullable().describe('Null if nothing is stored'),
  })
  .meta({ id: 'UserConfig', examples: [exampleUserConfig] });

export const SignIn = z
  .object({
    issuer: z
      .string()
      .nullable()
      .describe('URL of the OpenID Connect provider; null: the development issuer of `POST /dev/token`, or none'),
    clientID: z.string().nullable().describe('The client for which the provider issues ID tokens: their audience'),
    isBuiltIn: z
      .boolean()
      .describe('The provider is this service itself: its issuer also has the pages `/account` and `/sign-out`'),
    mcpURL: z
      .string()
      .nullable()
      .describe('Where clients reach the MCP service, before `/tenants/{tenantID}/mcp`; null: this is not set'),
    hasDevelopmentIssuer: z.boolean().describe('`POST /dev/token` issues tokens on the machine of the server'),
  })
  .meta({ id: 'SignIn', examples: [exampleSignIn] });
