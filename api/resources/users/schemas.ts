import { z } from 'zod';
import { idOf } from '#shared/core/schema/reference.ts';
import { pageFields, pageQuery, standardPage } from '../../http/fields/paging.ts';
import { RoleReference } from '../../http/fields/response-parts.ts';
import { requireOne } from '../../http/fields/text.ts';
import { normalAddress } from '../../people/people.ts';
import { examplePerson, exampleTenantUser, exampleUserAdd, exampleUserRoles } from './examples.ts';

/** A member's user id, or the id of an invitation. */
export const TenantUserID = z.object({ tenantUserID: idOf('user') });

const RoleIDs = z
  .array(idOf('role'))
  .max(100)
  .transform((ids) => [...new Set(ids)]);

const Relationship = z.enum(['ADMIN', 'MEMBER']);

/** Allows letters beyond ASCII before the @, as identity providers do. */
const Address = z.email({ pattern: z.regexes.unicodeEmail }).max(320).transform(normalAddress);

export const UserAdd = z
  .object({
    userEmail: Address.optional(),
    tenantUserEmail: Address.optional().describe('Another name for `userEmail`'),
    roleIDs: RoleIDs.default([]),
    folderID: idOf('folder').nullish(),
  })
  .transform(({ userEmail, tenantUserEmail, ...rest }, check) => ({
    ...rest,
    userEmail: requireOne(check, 'userEmail', [userEmail, tenantUserEmail]),
  }))
  .meta({ id: 'TenantUserAdd', examples: [exampleUserAdd] });

export const UserRoles = z
  .object({
    roleIDs: RoleIDs,
    userTenantRelationship: Relationship.optional(),
    folderID: idOf('folder').nullish(),
  })
  .meta({ id: 'TenantUserRoles', examples: [exampleUserRoles] });

/** Filter of a tenant's users. */
export const TenantUserList = z.object({
  ...pageQuery(standardPage),
  search: z.string().max(255).optional(),
  folderID: idOf('folder').optional(),
});

export const UserList = z.object({ ...pageQuery(standardPage), search: z.string().max(255).optional() });

export const TenantUser = z
  .object({
    id: z.uuid(),
    tenantUserID: z.uuid(),
    userID: z.uuid().nullable().describe('Null of an invitation'),
    email: z.string().nullable(),
    firstName: z.string().nullable(),
    lastName: z.string().nullable(),
    isDisabled: z.boolean(),
    isPending: z.boolean().describe('Invited, and not yet signed in'),
    isTenantAdmin: z.boolean(),
    userTenantRelationship: Relationship,
    roles: z.array(RoleReference),
    folderID: z.uuid().nullable(),
    lastSeen: z.iso.datetime().nullable().describe('Accurate to a minute; null if the user never sent a request'),
    tenantUserFrom: z.iso.datetime(),
    createdAt: z.iso.datetime(),
    updatedAt: z.iso.datetime(),
  })
  .meta({ id: 'TenantUser', examples: [exampleTenantUser] });

export const UserID = z.object({ userID: idOf('user') });

export const UserBlock = z
  .object({ isDisabled: z.boolean() })
  .meta({ id: 'UserUpdate', examples: [{ isDisabled: true }] });

/** A user of the deployment, as operators see it. */
export const Person = z
  .object({
    userID: z.uuid(),
    email: z.string().nullable(),
    firstName: z.string().nullable(),
    lastName: z.string().nullable(),
    isDisabled: z.boolean(),
    lastSeen: z.iso.datetime().nullable(),
    createdAt: z.iso.datetime(),
    updatedAt: z.iso.datetime(),
  })
  .meta({ id: 'Person', examples: [examplePerson] });

export const People = z.object({ users: z.array(Person), ...pageFields }).meta({ id: 'PersonPage' });

export const TenantUsers = z.object({ users: z.array(TenantUser), ...pageFields }).meta({ id: 'TenantUserPage' });
