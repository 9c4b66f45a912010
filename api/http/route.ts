import type { EntityManager } from '@mikro-orm/postgresql';
import type { Request, Response } from 'express';
import type { z } from 'zod';
import type { Caller } from '#shared/caller.ts';
import type { IdempotencyClaim } from '#shared/idempotency.ts';
import type { Logger } from '#shared/logger.ts';
import type { Permission, ResourcePermission } from '#shared/policy/permissions.ts';
import type { Identity } from '../auth/identity.ts';
import type { OperatorSession } from '../auth/operator-session.ts';
import type { ApiContext } from '../context.ts';
import type { Condition } from '../db/visible.ts';
import type { UnknownFields } from './unknown-fields.ts';
import type { Upload, UploadedFile } from './upload.ts';

export type { Identity, Request, Response };

export type Method = 'get' | 'post' | 'put' | 'patch' | 'delete';

/** One thing that must be allowed: `permission` on `object` (`<type>:<id>`, `<type>:*`). All of a route's are required. */
export interface Access {
  permission: Permission;
  object: string;
}

/** The same of a handler, which may also ask for whatever can be done. */
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
  /** In the place of a body: one file, which the handler reads (`file()`) once the caller is known to be allowed. */
  upload?: Upload;
  /** The type of what is sent, when the handler sends it itself. */
  produces?: string;
  /** What is sent beside `success: true`; parsed before it leaves, so nothing undeclared does. */
  response: R;
  /** The answer is a secret: nothing on its way keeps it. */
  isSecret?: true;
  /** 201 for what creates, 302 for what sends the browser elsewhere (`response.redirect`), else 200. */
  status?: 200 | 201 | 302;
  /** Statuses to document beyond those that follow from the rest. */
  errors?: readonly ('401' | '404' | '409' | '429' | '502' | '504')[];
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
  identity: Identity;
  /** Narrowed to the tenant: another tenant's rows are not there. */
  em: EntityManager;
  log: Logger;
  /** The condition that narrows a list to what this caller may see: spread it into the others. `column`, if not `id`, has the object's id. */
  visible(permission: Permission, column?: string): Promise<Condition>;
  /** Throws PERMISSION_DENIED unless every one is allowed: for what only the handler can know. */
  require(access: readonly Demand[]): Promise<void>;
  /** Whether the caller holds a permission on everything of its type, without an exception: for what is granted to others. */
  holds(permission: Permission | ResourcePermission): Promise<boolean>;
  /**
   * Notes fields of the body that only the handler can tell are unknown; `at` leads to where they were looked for. Throws
   * VALIDATION_ERROR if the client wants strict handling, so it comes before anything is changed.
   */
  reportUnknown(found: UnknownFields, at?: readonly (string | number)[]): void;
  idempotency: IdempotencyClaim | undefined;
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
  /** Of the whole deployment: narrowed to no tenant. */
  em: EntityManager;
  log: Logger;
  idempotency: IdempotencyClaim | undefined;
}

export interface PublicInput<P extends z.ZodType, Q extends z.ZodType, B extends z.ZodType> extends Parsed<P, Q, B> {
  request: Request;
  response: Response;
  em: EntityManager;
  log: Logger;
}

type Handler<I, R extends z.ZodType> = (input: I, context: ApiContext) => Promise<z.input<R>>;

type Gate<P extends z.ZodType, Q extends z.ZodType, B extends z.ZodType> =
  | {
      permission: Permission;
      /** Absent for lists and creates: `<resource>:*`. */
      object?: (request: Parsed<P, Q, B>) => string;
      access?: never;
    }
  | { access: (request: Parsed<P, Q, B>) => readonly [Access, ...Access[]]; permission?: never; object?: never };

/** Whether a path has a parameter `:xID`. A path that is not a literal may have one. */
type NamesOne<Path extends string> = string extends Path
  ? true
  : Path extends `${string}:${infer Name}/${infer Rest}`
    ? Name extends `${string}ID`
      ? true
      : NamesOne<`/${Rest}`>
    : Path extends `${string}:${string}ID`
      ? true
      : false;

/** What a path with an id must come with: a route that checked its type alone would ignore the rules on that one object. */
type ObjectOf<Path extends string> =
  NamesOne<Path> extends true
    ? { onWholeType: true } | { filter: true } | { access: unknown } | { object: unknown }
    : unknown;

export type TenantRouteDefinition<Path extends string, P extends Z, Q extends Z, B extends Z, R extends Z> = Verb &
  Shapes<P, Q, B, R> &
  Gate<P, Q, B> &
  ObjectOf<Path> & {
    path: Path;
    /** The path is whole: the contract has this one outside of `/tenants`, with a `:tenantID` of its own. */
    isWholePath?: true;
    /**
     * Opens the route to a caller with the permission on any object of its type. The handler narrows a list to what the caller
     * may read (`visible`), or checks the object that it finds (`require`).
     */
    filter?: true;
    /** The path has an id, but the policy has no rules for single objects of this kind: the permission is on all of them. */
    onWholeType?: true;
    handle: Handler<TenantInput<P, Q, B>, R>;
  };

export type UserRouteDefinition<P extends Z, Q extends Z, B extends Z, R extends Z> = Verb<'transaction' | 'outside'> &
  Shapes<P, Q, B, R> & {
    handle: Handler<UserInput<P, Q, B>, R>;
    /** Adds to the answer what can be found out only once it is true: after the transaction, also for a replayed answer. */
    complete?: (answer: z.output<R>, input: UserInput<P, Q, B>, context: ApiContext) => Promise<z.input<R>>;
  };

export type OperatorRouteDefinition<P extends Z, Q extends Z, B extends Z, R extends Z> = Verb &
  Shapes<P, Q, B, R> & {
    /** The handler writes an entry of its own kind instead. */
    isRecordedByHandler?: boolean;
    handle: Handler<OperatorInput<P, Q, B>, R>;
  };

/** Without a caller there is no idempotency key: a key is one caller's. */
export type PublicRouteDefinition<P extends Z, Q extends Z, B extends Z, R extends Z> = Verb<never> &
  Shapes<P, Q, B, R> & {
    handle: Handler<PublicInput<P, Q, B>, R>;
  };

/** A route as data. The input types are erased here; `mount.ts` parses with the route's own schemas before it calls. */
export type Route =
  | (ErasedShapes & {
      realm: 'tenant';
      permission?: Permission;
      access: (request: ErasedParsed) => readonly Access[];
      filter: boolean;
      handle: ErasedHandler;
    })
  | (ErasedShapes & { realm: 'user'; handle: ErasedHandler; complete?: ErasedCompletion })
  | (ErasedShapes & { realm: 'operator'; isRecordedByHandler?: boolean; handle: ErasedHandler })
  | (ErasedShapes & { realm: 'public'; handle: ErasedHandler });

/** Routes that the reference shows together. */
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

/** A route under `/api/v1/tenants/{tenantID}`: membership, then the policy; it cannot be written without a permission. */
export function tenantRoute<
  const Path extends string,
  P extends Z = NoFields,
  Q extends Z = NoFields,
  B extends Z = NoBody,
  R extends Z = Z,
>(definition: TenantRouteDefinition<Path, P, Q, B, R>): Route {
  const { permission, object, access, filter, isWholePath, onWholeType, ...shapes } = definition;
  const resource = permission?.slice(0, permission.indexOf('.'));
  return {
    ...(shapes as unknown as ErasedShapes & { handle: ErasedHandler }),
    path: isWholePath ? definition.path : TENANT_PREFIX + definition.path,
    realm: 'tenant',
    filter: filter ?? false,
    ...(permission && { permission }),
    // Typed where it was written; here only handed through.
    access:
      (access as ((request: ErasedParsed) => readonly Access[]) | undefined) ??
      ((request) => [
        { permission: permission as Permission, object: object ? object(request as never) : `${resource}:*` },
      ]),
  };
}

/** A route for any signed-in user, outside every tenant. */
export function userRoute<P extends Z = NoFields, Q extends Z = NoFields, B extends Z = NoBody, R extends Z = Z>(
  definition: UserRouteDefinition<P, Q, B, R>,
): Route {
  return { ...(definition as unknown as ErasedShapes & { handle: ErasedHandler }), realm: 'user' };
}

/** A route under `/api/v1/operator`: for a session of an operator and for nobody else; what is not a GET is recorded. */
export function operatorRoute<P extends Z = NoFields, Q extends Z = NoFields, B extends Z = NoBody, R extends Z = Z>(
  definition: OperatorRouteDefinition<P, Q, B, R>,
): Route {
  return {
    ...(definition as unknown as ErasedShapes & { handle: ErasedHandler }),
    path: OPERATOR_PREFIX + definition.path,
    realm: 'operator',
  };
}

/** A route without credentials: the exception is visible in its name. */
export function publicRoute<P extends Z = NoFields, Q extends Z = NoFields, B extends Z = NoBody, R extends Z = Z>(
  definition: PublicRouteDefinition<P, Q, B, R>,
): Route {
  return { ...(definition as unknown as ErasedShapes & { handle: ErasedHandler }), realm: 'public' };
}
