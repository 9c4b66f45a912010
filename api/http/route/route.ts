import type { Request, Response } from 'express';
import type { z } from 'zod';
import type { Permission } from '#shared/access/policy/permissions.ts';
import type { Identity } from '../../auth/identity.ts';
import type { FieldAliases } from '../fields/field-aliases.ts';
import type { Upload } from '../request/upload.ts';
import type { Access, OperatorInput, Parsed, PublicInput, TenantInput, UserInput } from './input.ts';
import type { NamesOne } from './path-parameters.ts';

export type { Identity, Request, Response };

export type Method = 'get' | 'post' | 'put' | 'patch' | 'delete';

interface Shapes<P extends z.ZodType, Q extends z.ZodType, B extends z.ZodType, R extends z.ZodType> {
  /** The name for clients: the `operationId` of the OpenAPI document, unique, in camelCase, and stable once published. */
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
  /** The body carries data, of any number of values. Other bodies are settings, of at most `MAX_PARTS`. */
  takesData?: true;
  /** Names that the client may use for fields in errors of a handler; the error is sent with the name that the client used. */
  aliases?: FieldAliases;
  /** Takes one file in the place of a body; the handler reads it (`file()`) after the permission check. */
  upload?: Upload;
  /** The content type, when the handler sends the response itself. */
  produces?: string;
  /** The fields beside `success: true`. The response is parsed with it, so undeclared fields are never sent. */
  response: R;
  /** The version of the asset that the response shows, which is sent as `ETag`. */
  etag?: (result: z.output<R>) => number;
  /** Honours `If-Match`: the handler calls `requireMatch` once it has locked the asset. */
  conditional?: true;
  /** The response holds a secret: sent with `Cache-Control: no-store`, and not kept in the audit trail. */
  isSecret?: true;
  /** The path contains a secret: the audit trail shows the path of the definition instead. */
  hasSecretPath?: true;
  /** The client is a stranger who may send any parameters: they are neither checked nor reported, and its preference is not read. */
  takesAnyQuery?: true;
  /** Body and response are inputs and results of queries, which are stored sealed only: the audit trail keeps neither. */
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
 * database, so the key is written before it and the response after it.
 */
export type Idempotent = 'transaction' | 'handler' | 'outside';

/** Most POSTs create or start something, so each one says whether it may be repeated with a key; other methods take none. */
export type Verb<I extends Idempotent = Idempotent> =
  | { method: 'post'; idempotent: false | I }
  | { method: Exclude<Method, 'post'>; idempotent?: never };

type Handler<I, R extends z.ZodType, C> = (input: I, context: C) => Promise<z.input<R>>;

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

/** Any value but undefined; other parts of a definition give its type. */
type Given = NonNullable<unknown>;

/** A path with an id needs one of these: a check of the type alone would ignore the rules on that object. */
type ObjectOf<Path extends string> =
  NamesOne<Path> extends true
    ? { onWholeType: true } | { filter: true } | { access: Given } | { object: Given }
    : unknown;

export type TenantRouteDefinition<C, Path extends string, P extends Z, Q extends Z, B extends Z, R extends Z> = Verb &
  Shapes<P, Q, B, R> &
  PermissionCheck<P, Q, B> &
  ObjectOf<Path> & {
    path: Path;
    /** `path` is complete: the contract puts this route outside of `/tenants`, with a `:tenantID` of its own. */
    isWholePath?: true;
    /**
     * Accepts a caller with the permission on at least one object of its type. The handler filters a list to the objects that the
     * caller may read (`visible`), or checks the object that it finds (`require`).
     */
    filter?: true;
    /** With `filter`: accepts a caller with this permission as well. */
    alternative?: Permission;
    /** Reads the workflow that `:workflowID` names together with the caller's membership, which saves a statement. */
    withWorkflow?: true;
    /** The handler's own statement writes the entry of the audit trail (`entry.take()`). */
    writesEntry?: true;
    /** The path has an id, but policies have no rules for single objects of this type: the permission covers all of them. */
    onWholeType?: true;
    handle: Handler<TenantInput<P, Q, B>, R, C>;
  };

export type UserRouteDefinition<C, P extends Z, Q extends Z, B extends Z, R extends Z> = Verb<
  'transaction' | 'outside'
> &
  Shapes<P, Q, B, R> & {
    handle: Handler<UserInput<P, Q, B>, R, C>;
    /** Adds fields that can be computed only after the transaction has committed; also called for a replayed answer. */
    complete?: (result: z.output<R>, input: UserInput<P, Q, B>, context: C) => Promise<z.input<R>>;
  };

export type OperatorRouteDefinition<C, P extends Z, Q extends Z, B extends Z, R extends Z> = Verb &
  Shapes<P, Q, B, R> & {
    /** The handler writes its own audit entry instead. */
    isRecordedByHandler?: boolean;
    handle: Handler<OperatorInput<P, Q, B>, R, C>;
  };

/** An idempotency key belongs to a caller, so a route without one takes none. */
export type PublicRouteDefinition<C, P extends Z, Q extends Z, B extends Z, R extends Z> = Verb<never> &
  Shapes<P, Q, B, R> & {
    /** Refuses a request before its body is read. Without it a body has at most `UNAUTHENTICATED_BYTES`. */
    checkPublic?: (input: Unauthenticated<z.output<P>>, context: C) => Promise<void>;
    handle: Handler<PublicInput<P, Q, B>, R, C>;
  };

/** Facts about a request that needs no credential, before its body is read. */
interface Unauthenticated<Params> {
  params: Params;
  request: Request;
}

/**
 * A route as data, for handlers that want the context `C`. The input types are erased here; `mount.ts` parses with the route's own
 * schemas before it calls.
 */
export type Route<C = never> =
  | (ErasedShapes & {
      realm: 'tenant';
      permission?: Permission;
      access: (request: ErasedParsed) => readonly Access[];
      filter: boolean;
      forMembers: boolean;
      alternative?: Permission;
      withWorkflow?: true;
      writesEntry?: true;
      handle: ErasedHandler<C>;
    })
  | (ErasedShapes & { realm: 'user'; handle: ErasedHandler<C>; complete?: ErasedCompletion<C> })
  | (ErasedShapes & { realm: 'operator'; isRecordedByHandler?: boolean; handle: ErasedHandler<C> })
  | (ErasedShapes & {
      realm: 'public';
      // biome-ignore lint/suspicious/noExplicitAny: as below
      checkPublic?: (input: Unauthenticated<any>, context: C) => Promise<void>;
      handle: ErasedHandler<C>;
    });

/** Routes that the API reference lists under one tag. */
export interface RouteGroup<C = never> {
  tag: string;
  description: string;
  routes: readonly Route<C>[];
}

export type ErasedShapes = Shapes<z.ZodType, z.ZodType, z.ZodType, z.ZodType> & Verb;

export type ErasedParsed = Parsed<z.ZodType, z.ZodType, z.ZodType>;

// biome-ignore lint/suspicious/noExplicitAny: the correlation between a route's schemas and its handler ends at the table
export type ErasedHandler<C> = (input: any, context: C) => Promise<unknown>;

// biome-ignore lint/suspicious/noExplicitAny: as above
type ErasedCompletion<C> = (result: any, input: any, context: C) => Promise<unknown>;

export type Z = z.ZodType;

export type NoFields = z.ZodType<Record<string, never>>;

export type NoBody = z.ZodType<undefined>;

export const TENANT_PREFIX = '/api/v1/tenants/:tenantID';

export const OPERATOR_PREFIX = '/api/v1/operator';
