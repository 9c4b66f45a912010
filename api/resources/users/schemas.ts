import { z } from 'zod';
import { ID } from '../../http/id.ts';
import { pageFields, pageQuery, standardPage } from '../../http/paging.ts';
import { requireOne } from '../../http/text.ts';
import { normalAddress } from '../../people/people.ts';

/** A member's user id, or the id of an invitation. */
export const TenantUserID = z.object({ tenantUserID: ID });

const RoleIDs = z
  .array(ID)
  .max(100)
  .transform((ids) => [...new Set(ids)]);

const Relationship = z.enum(['ADMIN', 'MEMBER']);

/** Also with letters beyond ASCII before the @, as providers have them. */
const Address = z.email({ pattern: z.regexes.unicodeEmail }).max(320).transform(normalAddress);

/** Two names for the address. */
export const UserAdd = z
  .object({
    userEmail: Address.optional(),
    tenantUserEmail: Address.optional(),
    roleIDs: RoleIDs.default([]),
    folderID: ID.nullish(),
  })
  .transform(({ userEmail, tenantUserEmail, ...rest }, check) => ({
    ...rest,
    userEmail: requireOne(check, 'userEmail', [userEmail, tenantUserEmail]),
  }));

export const UserRoles = z.object({
  roleIDs: RoleIDs,
  userTenantRelationship: Relationship.optional(),
  folderID: ID.nullish(),
});

/** Of a tenant's. */
export const TenantUserList = z.object({
  ...pageQuery(standardPage),
  search: z.string().max(255).optional(),
  folderID: ID.optional(),
});

export const UserList = z.object({ ...pageQuery(standardPage), search: z.string().max(255).optional() });

export const TenantUser = z.object({
  id: z.uuid(),
  tenantUserID: z.uuid(),
  /** Null of an invitation. */
  userID: z.uuid().nullable(),
  email: z.string().nullable(),
  firstName: z.string().nullable(),
  lastName: z.string().nullable(),
  isDisabled: z.boolean(),
  /** Invited, and not yet signed in. */
  isPending: z.boolean(),
  isTenantAdmin: z.boolean(),
  userTenantRelationship: Relationship,
  roles: z.array(z.object({ roleID: z.uuid(), roleName: z.string() })),
  folderID: z.uuid().nullable(),
  /** Null until they have been here; at most a minute late. */
  lastSeen: z.iso.datetime().nullable(),
  tenantUserFrom: z.iso.datetime(),
  createdAt: z.iso.datetime(),
  updatedAt: z.iso.datetime(),
});

export const UserID = z.object({ userID: ID });

export const UserBlock = z.object({ isDisabled: z.boolean() });

/** Somebody of the whole deployment, as operators see them. */
export const Person = z.object({
  userID: z.uuid(),
  email: z.string().nullable(),
  firstName: z.string().nullable(),
  lastName: z.string().nullable(),
  isDisabled: z.boolean(),
  lastSeen: z.iso.datetime().nullable(),
  createdAt: z.iso.datetime(),
  updatedAt: z.iso.datetime(),
});

export const People = z.object({ users: z.array(Person), ...pageFields });

export const TenantUsers = z.object({ users: z.array(TenantUser), ...pageFields });
