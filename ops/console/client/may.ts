import { queryOptions, useQuery } from '@tanstack/react-query';
import { useParams } from '@tanstack/react-router';
import { queries } from './queries.ts';
import { body, rest } from './rest.ts';
import type { Schemas } from './types.ts';

export type Permission = Schemas['Permission'];

/** The type is the resource of the permissions in question. */
export type AssetName = `${string}:${string}`;

function permissionsRead(tenantID: string, object?: AssetName) {
  return queryOptions({
    queryKey: ['permissions', tenantID, object ?? null],
    queryFn: () => {
      const params = { path: { tenantID }, query: object ? { object } : {} };
      return body(rest.GET('/api/v1/tenants/{tenantID}/permissions/mine', { params }));
    },
    staleTime: 30_000,
  });
}

/** The caller's permissions in the tenant; undefined until they are known. */
export function usePermissions(tenantID: string): Permission[] | undefined {
  const { data } = useQuery(permissionsRead(tenantID));
  return data && [...data.permissions, ...data.permissionsOnSome];
}

/** Whether the caller has the permission on at least one asset of its type. */
export async function mayNow(tenantID: string, permission: Permission): Promise<boolean> {
  const { permissions, permissionsOnSome } = await queries.fetchQuery(permissionsRead(tenantID));
  return permissions.includes(permission) || permissionsOnSome.includes(permission);
}

/** The page that a role of the caller has in place of Home; null: none, undefined: not known yet. */
export function useHomePage(tenantID: string): string | null | undefined {
  const { data, isError } = useQuery(permissionsRead(tenantID));
  return data ? (data.homePageID ?? null) : isError ? null : undefined;
}

/**
 * Whether the caller may do something: on the named asset, else on at least one of its type. Not until that is known, so that
 * nothing is offered that would be refused; the API decides in the end.
 */
export function useMay(object?: AssetName): (permission: Permission) => boolean {
  const { tenantID } = useParams({ strict: false });
  const of = useQuery({ ...permissionsRead(tenantID ?? ''), enabled: tenantID !== undefined });
  const type = object?.slice(0, object.indexOf(':') + 1).replace(':', '.');
  const hasRules = of.data?.permissionsOnSome.some((permission) => type && permission.startsWith(type)) ?? false;
  const own = useQuery({ ...permissionsRead(tenantID ?? '', object), enabled: hasRules });
  return (permission) => {
    if (of.data?.permissions.includes(permission)) return true;
    const isOfObject = hasRules && type !== undefined && permission.startsWith(type);
    if (isOfObject) return own.data?.permissions.includes(permission) ?? own.isError;
    // Without an answer the buttons are there, and the API refuses.
    return of.data?.permissionsOnSome.includes(permission) ?? of.isError;
  };
}
