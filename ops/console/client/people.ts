import { keepPreviousData, queryOptions } from '@tanstack/react-query';
import { body, rest } from './rest.ts';
import type { Schemas } from './types.ts';

const USERS = '/api/v1/tenants/{tenantID}/users';
const USER = `${USERS}/{tenantUserID}` as const;
const ROLES = '/api/v1/tenants/{tenantID}/roles';
const ROLE = `${ROLES}/{roleID}` as const;
const KEYS = '/api/v1/tenants/{tenantID}/apikeys';
const KEY = `${KEYS}/{apiKeyID}` as const;
const PAGE = 50;

export interface PeopleFilter {
  search?: string;
  cursor?: string;
}

export interface MemberIDs {
  tenantID: string;
  tenantUserID: string;
}

export function membersPageRead(tenantID: string, filter: PeopleFilter) {
  return queryOptions({
    queryKey: ['members', tenantID, 'list', filter],
    queryFn: () => body(rest.GET(USERS, { params: { path: { tenantID }, query: { ...filter, limit: PAGE } } })),
    placeholderData: keepPreviousData,
  });
}

export function memberRead(path: MemberIDs) {
  return queryOptions({
    queryKey: ['members', path.tenantID, 'one', path.tenantUserID],
    queryFn: async () => (await body(rest.GET(USER, { params: { path } }))).user,
  });
}

/** Adds a member, or invites a person who has no account yet. */
export async function addMember(
  tenantID: string,
  member: Schemas['TenantUserAdd'],
): Promise<Schemas['AddTenantUserAnswer']['user']> {
  const params = { path: { tenantID } };
  return (await body(rest.POST(USERS, { params, body: member }))).user;
}

export async function setMemberRoles(path: MemberIDs, change: Schemas['TenantUserRoles']): Promise<void> {
  await body(rest.PATCH(`${USER}/roles`, { params: { path }, body: change }));
}

export async function removeMember(path: MemberIDs): Promise<void> {
  await body<unknown>(rest.DELETE(USER, { params: { path } }));
}

/** All roles that a member or key may be given. */
export function rolesRead(tenantID: string) {
  return queryOptions({
    queryKey: ['roles', tenantID],
    queryFn: async () =>
      (await body(rest.GET(ROLES, { params: { path: { tenantID }, query: { pageSize: 1_000 } } }))).roles,
    staleTime: 10_000,
  });
}

/** Every permission that there is. */
export function catalogueRead(tenantID: string) {
  return queryOptions({
    queryKey: ['catalogue', tenantID],
    queryFn: async () => (await body(rest.GET(`${ROLES}/permissions`, { params: { path: { tenantID } } }))).permissions,
    staleTime: Number.POSITIVE_INFINITY,
  });
}

export async function createRole(tenantID: string, role: Schemas['RoleCreate']): Promise<string> {
  return (await body(rest.POST(ROLES, { params: { path: { tenantID } }, body: role }))).role.roleID;
}

/** A role as it is now, and not as it was listed. */
export async function readRole(path: { tenantID: string; roleID: string }) {
  return (await body(rest.GET(ROLE, { params: { path } }))).role;
}

/** Creates those of the ready roles that the tenant lacks. */
export async function addReadyRoles(tenantID: string): Promise<void> {
  await body<unknown>(rest.POST(`${ROLES}/ready`, { params: { path: { tenantID } } }));
}

export async function updateRole(
  path: { tenantID: string; roleID: string },
  change: Schemas['RoleUpdate'],
): Promise<void> {
  await body(rest.PATCH(ROLE, { params: { path }, body: change }));
}

export async function deleteRole(path: { tenantID: string; roleID: string }): Promise<void> {
  await body<unknown>(rest.DELETE(ROLE, { params: { path } }));
}

export function keysRead(tenantID: string, filter: PeopleFilter) {
  return queryOptions({
    queryKey: ['api-keys', tenantID, filter],
    queryFn: () => body(rest.GET(KEYS, { params: { path: { tenantID }, query: { ...filter, limit: PAGE } } })),
    placeholderData: keepPreviousData,
  });
}

export async function createKey(tenantID: string, key: Schemas['ApiKeyCreate']): Promise<string> {
  return (await body(rest.POST(KEYS, { params: { path: { tenantID } }, body: key }))).apiKey.key;
}

/** A key that is revoked stays in the list until it is deleted for good. */
export async function deleteKey(
  path: { tenantID: string; apiKeyID: string },
  { isForGood }: { isForGood: boolean },
): Promise<void> {
  const query = isForGood ? { permanently: 'true' as const } : {};
  await body<unknown>(rest.DELETE(KEY, { params: { path, query } }));
}
