import type { EntityManager } from '@mikro-orm/postgresql';
import type { Request, Response } from 'express';
import type { z } from 'zod';
import type { StandingWorkflow } from '#shared/access/account-status.ts';
import type { Extent } from '#shared/access/policy/enforcer.ts';
import type { Permission, ResourcePermission } from '#shared/access/policy/permissions.ts';
import type { Caller } from '#shared/core/caller.ts';
import type { Logger } from '#shared/core/logger.ts';
import type { IdempotencyClaim } from '#shared/db/idempotency.ts';
import type { RecordPublic, RequestEntry } from './audit-entry.ts';
import type { Identified } from '../../auth/identify.ts';
import type { Identity } from '../../auth/identity.ts';
import type { OperatorSession } from '../../auth/operator-session.ts';
import type { ApiContext } from '../../app/open-context.ts';
import type { Condition } from '../../tenant/visible-rows.ts';
import type { NamesOne } from './path-parameters.ts';
import type { Spellings } from '../fields/field-aliases.ts';
import type { UnknownFields } from '../request/unknown-fields.ts';
import type { Upload, UploadedFile } from '../request/upload.ts';

export type { Identity, Request, Response };

export type Method = 'get' | 'post' | 'put' | 'patch' | 'delete';

/** A permission that the caller must have on `object` (`<type>:<id>`, `<type>:*`). A route requires all it lists. */
export interface Access {
  permission: Permission;
  object: string;
}

/** A check made by a handler, which may also name permissions that no route has. */
export interface Demand {
  permission: Permission | ResourcePermission;
  object: string;
}

interface Shapes<P extends z.ZodType, Q extends z.ZodType, B extends z.ZodType, R extends z.ZodType> {
  /** What a client calls it: the `operationId` of the OpenAPI document, unique, in camelCase, and stable once published. */
  name: string;
  /** Below the tenant for tenant routes, e.g. `/workflows/:workflowID`. */
  path: string;
  /** A few words for a list of operations: `List tables`. */
  summary: string;
  /** Whole sentences, in Markdown. */
  description: string;
  params?: P;
  query?: Q;
  body?: B;
  /** Names that the client may use for fields in errors of a handler; the error is sent with the name that the client used. */
  spellings?: Spellings;
  /** Takes one file in the place of a body; the handler reads it (`file()`) after the permission check. */
  upload?: Upload;
  /** The content type, when the handler sends the answer itself. */
  produces?: string;
  /** The fields beside `success: true`. The answer is parsed with it, so undeclared fields are never sent. */
  response: R;
  /** The version of the asset that the answer shows, which is sent as `ETag`. */
  etag?: (answer: z.output<R>) => number;
  /** Honours `If-Match`: the handler calls `requireMatch` once it has locked the asset. */
  conditional?: true;
  /** The answer holds a secret: sent with `Cache-Control: no-store`, and not kept in the audit trail. */
  isSecret?: true;
  /** The path holds a secret: the audit trail shows that of the definition. */
  hasSecretPath?: true;
  /** Inputs and results of queries, which are stored sealed only: the audit trail keeps neither body nor answer. */
  isPrivate?: true;
  /** Fields of body and answer that may hold a secret, although their names do not say so: the audit trail hides them. */
  hides?: readonly string[];
  /** 201 when the route creates something, 202 when it is done later, 302 when it redirects (`response.redirect`), else 200. */
  status?: 200 | 201 | 202 | 302;
  /** Statuses to document beyond those derived from the other fields. */
  errors?: readonly ('401' | '404' | '409' | '413' | '429' | '502' | '504')[];
}

/**
 * How a route honours `Idempotency-Key`. `transaction`: the handler runs inside the transaction that writes the key. `handler`:
 * the handler passes `idempotency` on to what opens its own transaction (`runs.accept`). `outside`: the effect is not in our
 * database, so the key is written before it and the answer after it.
 */
export type Idempotent = 'transaction' | 'handler' | 'outside';

/** Most POSTs create or start something, so each one says whether it may be repeated with a key; other methods take none. */
export type Verb<I extends Idempotent = Idempotent> =
  | { method: 'post'; idempotent: false | I }
  | { method: Exclude<Method, 'post'>; idempotent?: never };

export interface Parsed<P extends z.ZodType, Q extends z.ZodType, B extends z.ZodType> {
  params: z.output<P>;
  query: z.output<Q>;
  body: z.output<B>;
}

export interface TenantInput<P extends z.ZodType, Q extends z.ZodType, B extends z.ZodType> extends Parsed<P, Q, B> {
  tenantID: string;
  caller: Caller;
  identity: Identified;
  /** The id of an asset that the handler creates. An import has given it out before. */
  newAssetID(): string;
  /** Of a route with `withWorkflow`: undefined if the tenant has no such workflow. */
  workflow: StandingWorkflow | undefined;
  /** Filtered to the tenant: it cannot read another tenant's rows. */
  em: EntityManager;
  log: Logger;
  /** The condition that narrows a list to what this caller may see: spread it into the others. `column`, if not `id`, has the object's id. */
  visible(permission: Permission, column?: string): Promise<Condition>;
  /** Throws PERMISSION_DENIED unless all are allowed. For objects that only the handler can find. */
  require(access: readonly Demand[]): Promise<void>;
  /** Throws PERMISSION_DENIED if a rule denies one of them: for objects whose creation is not committed yet. */
  requireUndenied(access: readonly Demand[]): Promise<void>;
  /** Whether the caller holds a permission on every object of its type, with no deny rule: required to grant it to others. */
  holds(permission: Permission | ResourcePermission): Promise<boolean>;
  /** On how many objects of its type the caller holds a permission. */
  extent(permission: Permission): Promise<Extent>;
  /**
   * Reports unknown fields that only the handler can detect; `at` is the path of the value they are in. Throws VALIDATION_ERROR
   * if the client wants strict handling, so call it before any write.
   */
  reportUnknown(found: UnknownFields, at?: readonly (string | number)[]): void;
  /** Throws PRECONDITION_FAILED if the request has an `If-Match` that does not name this version of the asset. */
  requireMatch(versionNumber: number): void;
  idempotency: IdempotencyClaim | undefined;
  /** Of this request in the audit trail. */
  entry: RequestEntry;
  /** Aborted when the client goes away. */
  signal: AbortSignal;
  /** The file of a route with `upload`. */
  file(): Promise<UploadedFile>;
  /** For a route with `produces`, whose handler sends the answer itself. */
  response: Response;
}

export interface UserInput<P extends z.ZodType, Q extends z.ZodType, B extends z.ZodType> extends Parsed<P, Q, B> {
  identity: Identity;
  em: EntityManager;
  log: Logger;
  /** Aborted when the client goes away. */
  signal: AbortSignal;
}

export interface OperatorInput<P extends z.ZodType, Q extends z.ZodType, B extends z.ZodType> extends Parsed<P, Q, B> {
  operator: OperatorSession;
  request: Request;
  /** Reads the rows of every tenant. */
  em: EntityManager;
  log: Logger;
  idempotency: IdempotencyClaim | undefined;
  /** Writes the entry of the request in the audit trails of these tenants, before it changes something there. `:tenantID` has one. */
  concern(tenantIDs: readonly string[]): Promise<void>;
}

export interface PublicInput<P extends z.ZodType, Q extends z.ZodType, B extends z.ZodType> extends Parsed<P, Q, B> {
  request: Request;
  response: Response;
  em: EntityManager;
  log: Logger;
  /** Aborted when the client goes away. */
  signal: AbortSignal;
  /** Does work that changes something in a tenant, with an entry in its audit trail. */
  recorded: RecordPublic;
}

type Handler<I, R extends z.ZodType> = (input: I, context: ApiContext) => Promise<z.input<R>>;

type PermissionCheck<P extends z.ZodType, Q extends z.ZodType, B extends z.ZodType> =
  | {
      permission: Permission;
      /** Absent for lists and creates: `<resource>:*`. */
      object?: (request: Parsed<P, Q, B>) => string;
      access?: never;
      forMembers?: never;
    }
  | {
      access: (request: Parsed<P, Q, B>) => readonly [Access, ...Access[]];
      permission?: never;
      object?: never;
      forMembers?: never;
    }
  /** Answers every member, also one without any permission: only for what the handler narrows to what the caller may see. */
  | { forMembers: true; permission?: never; object?: never; access?: never };

/** Not undefined. The types of a definition say what it is. */
type Given = NonNullable<unknown>;

/** A path with an id needs one of these: a check of the type alone would ignore the rules on that object. */
type ObjectOf<Path extends string> =
  NamesOne<Path> extends true
    ? { onWholeType: true } | { filter: true } | { access: Given } | { object: Given }
    : unknown;

export type TenantRouteDefinition<Path extends string, P extends Z, Q extends Z, B extends Z, R extends Z> = Verb &
  Shapes<P, Q, B, R> &
  PermissionCheck<P, Q, B> &
  ObjectOf<Path> & {
    path: Path;
    /** `path` is complete: the contract puts this route outside of `/tenants`, with a `:tenantID` of its own. */
    isWholePath?: true;
    /**
     * Admits a caller with the permission on at least one object of its type. The handler filters a list to the objects that the
     * caller may read (`visible`), or checks the object that it finds (`require`).
     */
    filter?: true;
    /** With `filter`: admits a caller with this permission as well. */
    alternative?: Permission;
    /** The workflow that `:workflowID` names is read with the caller's membership: one statement less. */
    withWorkflow?: true;
    /** The handler's own statement writes the entry of the audit trail (`entry.take()`). */
    writesEntry?: true;
    /** The path has an id, but policies have no rules for single objects of this type: the permission covers all of them. */
    onWholeType?: true;
    handle: Handler<TenantInput<P, Q, B>, R>;
  };

export type UserRouteDefinition<P extends Z, Q extends Z, B extends Z, R extends Z> = Verb<'transaction' | 'outside'> &
  Shapes<P, Q, B, R> & {
    handle: Handler<UserInput<P, Q, B>, R>;
    /** Adds fields that can be computed only after the transaction has committed; also called for a replayed answer. */
    complete?: (answer: z.output<R>, input: UserInput<P, Q, B>, context: ApiContext) => Promise<z.input<R>>;
  };

export type OperatorRouteDefinition<P extends Z, Q extends Z, B extends Z, R extends Z> = Verb &
  Shapes<P, Q, B, R> & {
    /** The handler writes its own audit entry instead. */
    isRecordedByHandler?: boolean;
    handle: Handler<OperatorInput<P, Q, B>, R>;
  };

/** An idempotency key belongs to a caller, so a route without one takes none. */
export type PublicRouteDefinition<P extends Z, Q extends Z, B extends Z, R extends Z> = Verb<never> &
  Shapes<P, Q, B, R> & {
    /** Refuses a request before its body is read. Without it a body has at most `STRANGERS_BYTES`. */
    admit?: (input: Stranger<z.output<P>>, context: ApiContext) => Promise<void>;
    handle: Handler<PublicInput<P, Q, B>, R>;
  };

/** What is known of a request that needs no credential until its body is read. */
interface Stranger<Params> {
  params: Params;
  request: Request;
}

/** A route as data. The input types are erased here; `mount.ts` parses with the route's own schemas before it calls. */
export type Route =
  | (ErasedShapes & {
      realm: 'tenant';
      permission?: Permission;
      access: (request: ErasedParsed) => readonly Access[];
      filter: boolean;
      forMembers: boolean;
      alternative?: Permission;
      withWorkflow?: true;
      writesEntry?: true;
      handle: ErasedHandler;
    })
  | (ErasedShapes & { realm: 'user'; handle: ErasedHandler; complete?: ErasedCompletion })
  | (ErasedShapes & { realm: 'operator'; isRecordedByHandler?: boolean; handle: ErasedHandler })
  | (ErasedShapes & {
      realm: 'public';
      // biome-ignore lint/suspicious/noExplicitAny: as below
      admit?: (input: Stranger<any>, context: ApiContext) => Promise<void>;
      handle: ErasedHandler;
    });

/** Routes that the API reference lists under one tag. */
export interface RouteGroup {
  tag: string;
  description: string;
  routes: readonly Route[];
}

type ErasedShapes = Shapes<z.ZodType, z.ZodType, z.ZodType, z.ZodType> & Verb;
type ErasedParsed = Parsed<z.ZodType, z.ZodType, z.ZodType>;
// biome-ignore lint/suspicious/noExplicitAny: the correlation between a route's schemas and its handler ends at the table
type ErasedHandler = (input: any, context: ApiContext) => Promise<unknown>;

// biome-ignore lint/suspicious/noExplicitAny: as above
type ErasedCompletion = (answer: any, input: any, context: ApiContext) => Promise<unknown>;

type Z = z.ZodType;
type NoFields = z.ZodType<Record<string, never>>;
type NoBody = z.ZodType<undefined>;

export const TENANT_PREFIX = '/api/v1/tenants/:tenantID';
export const OPERATOR_PREFIX = '/api/v1/operator';

/**
 * A route under `/api/v1/tenants/{tenantID}`: membership, then the policy. It cannot be written without a permission, unless it
 * says that it is for all members.
 */
export function tenantRoute<
  const Path extends string,
  P extends Z = NoFields,
  Q extends Z = NoFields,
  B extends Z = NoBody,
  R extends Z = Z,
>(definition: TenantRouteDefinition<Path, P, Q, B, R>): Route {
  const { permission, object, access, filter, forMembers, isWholePath, onWholeType, ...shapes } = definition;
  const resource = permission?.slice(0, permission.indexOf('.'));
  return {
    ...(shapes as unknown as ErasedShapes & { handle: ErasedHandler }),
    path: isWholePath ? definition.path : TENANT_PREFIX + definition.path,
    realm: 'tenant',
    filter: filter ?? false,
    forMembers: forMembers ?? false,
    ...(permission && { permission }),
    // Checked against the route's own types in its definition; here it is only passed on.
    access:
      (access as ((request: ErasedParsed) => readonly Access[]) | undefined) ??
      ((request) => (permission ? [{ permission, object: object ? object(request as never) : `${resource}:*` }] : [])),
  };
}

/** A route for any signed-in user, outside every tenant. */
export function userRoute<P extends Z = NoFields, Q extends Z = NoFields, B extends Z = NoBody, R extends Z = Z>(
  definition: UserRouteDefinition<P, Q, B, R>,
): Route {
  return { ...(definition as unknown as ErasedShapes & { handle: ErasedHandler }), realm: 'user' };
}

/** A route under `/api/v1/operator`. It wants an operator's session; every method but GET is recorded. */
export function operatorRoute<P extends Z = NoFields, Q extends Z = NoFields, B extends Z = NoBody, R extends Z = Z>(
  definition: OperatorRouteDefinition<P, Q, B, R>,
): Route {
  return {
    ...(definition as unknown as ErasedShapes & { handle: ErasedHandler }),
    path: OPERATOR_PREFIX + definition.path,
    realm: 'operator',
  };
}

/** A route without authentication. */
export function publicRoute<P extends Z = NoFields, Q extends Z = NoFields, B extends Z = NoBody, R extends Z = Z>(
  definition: PublicRouteDefinition<P, Q, B, R>,
): Route {
  return { ...(definition as unknown as ErasedShapes & { handle: ErasedHandler }), realm: 'public' };
}
