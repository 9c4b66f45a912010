import type { Access } from './input.ts';
import {
  type ErasedHandler,
  type ErasedParsed,
  type ErasedShapes,
  type NoBody,
  type NoFields,
  OPERATOR_PREFIX,
  type OperatorRouteDefinition,
  type PublicRouteDefinition,
  type Route,
  TENANT_PREFIX,
  type TenantRouteDefinition,
  type UserRouteDefinition,
  type Z,
} from './route.ts';

/** The four kinds of routes, for handlers that get the context `C`. */
export function routesFor<C>() {
  /**
   * A route under `/api/v1/tenants/{tenantID}`: membership, then the policy. It cannot be written without a permission, unless it
   * says that it is for all members.
   */
  function tenantRoute<
    const Path extends string,
    P extends Z = NoFields,
    Q extends Z = NoFields,
    B extends Z = NoBody,
    R extends Z = Z,
  >(definition: TenantRouteDefinition<C, Path, P, Q, B, R>): Route<C> {
    const { permission, object, access, filter, forMembers, isWholePath, onWholeType, ...shapes } = definition;
    const resource = permission?.slice(0, permission.indexOf('.'));
    return {
      ...(shapes as unknown as ErasedShapes & { handle: ErasedHandler<C> }),
      path: isWholePath ? definition.path : TENANT_PREFIX + definition.path,
      realm: 'tenant',
      filter: filter ?? false,
      forMembers: forMembers ?? false,
      ...(permission && { permission }),
      // Checked against the route's own types in its definition; here it is only passed on.
      access:
        (access as ((request: ErasedParsed) => readonly Access[]) | undefined) ??
        ((request) =>
          permission ? [{ permission, object: object ? object(request as never) : `${resource}:*` }] : []),
    };
  }

  /** A route for any signed-in user, outside every tenant. */
  function userRoute<P extends Z = NoFields, Q extends Z = NoFields, B extends Z = NoBody, R extends Z = Z>(
    definition: UserRouteDefinition<C, P, Q, B, R>,
  ): Route<C> {
    return { ...(definition as unknown as ErasedShapes & { handle: ErasedHandler<C> }), realm: 'user' };
  }

  /** A route under `/api/v1/operator`. It wants an operator's session; every method but GET is recorded. */
  function operatorRoute<P extends Z = NoFields, Q extends Z = NoFields, B extends Z = NoBody, R extends Z = Z>(
    definition: OperatorRouteDefinition<C, P, Q, B, R>,
  ): Route<C> {
    return {
      ...(definition as unknown as ErasedShapes & { handle: ErasedHandler<C> }),
      path: OPERATOR_PREFIX + definition.path,
      realm: 'operator',
    };
  }

  /** A route without authentication. */
  function publicRoute<P extends Z = NoFields, Q extends Z = NoFields, B extends Z = NoBody, R extends Z = Z>(
    definition: PublicRouteDefinition<C, P, Q, B, R>,
  ): Route<C> {
    return { ...(definition as unknown as ErasedShapes & { handle: ErasedHandler<C> }), realm: 'public' };
  }

  return { tenantRoute, userRoute, operatorRoute, publicRoute };
}
