import type { EntityManager } from '@mikro-orm/postgresql';
import type { Request, Response } from 'express';
import type { z } from 'zod';
import type { WorkflowStatus } from '#shared/access/account-status.ts';
import type { Permission, ResourcePermission } from '#shared/access/policy/permissions.ts';
import type { PermissionScope } from '#shared/access/policy/policy.ts';
import type { Caller } from '#shared/core/caller.ts';
import type { Logger } from '#shared/core/logger.ts';
import type { IdempotencyClaim } from '#shared/db/idempotency.ts';
import type { Identified } from '../../auth/identify.ts';
import type { Identity } from '../../auth/identity.ts';
import type { OperatorSession } from '../../auth/operator-session.ts';
import type { Condition } from '../../tenant/visible-rows.ts';
import type { UnknownFields } from '../request/unknown-fields.ts';
import type { UploadedFile } from '../request/upload.ts';
import type { RecordPublic, RequestEntry } from './audit-entry.ts';

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

export interface Parsed<P extends z.ZodType, Q extends z.ZodType, B extends z.ZodType> {
  params: z.output<P>;
  query: z.output<Q>;
  body: z.output<B>;
}

export interface TenantInput<P extends z.ZodType, Q extends z.ZodType, B extends z.ZodType> extends Parsed<P, Q, B> {
  tenantID: string;
  caller: Caller;
  identity: Identified;
  /**
   * The id for an asset that the handler creates: a new one, or in an import the one that other items of the bundle
   * already use.
   */
  newAssetID(): string;
  /** The workflow of a route with `withWorkflow`; undefined if the tenant has no such workflow. */
  workflow: WorkflowStatus | undefined;
  /** Filtered to the tenant: it cannot read another tenant's rows. */
  em: EntityManager;
  log: Logger;
  /** The condition that narrows a list to what this caller may see: spread it into the others. `column`, if not `id`, has the object's id. */
  visible(permission: Permission, column?: string): Promise<Condition>;
  /** Throws PERMISSION_DENIED unless every access is allowed. For objects that only the handler can find. */
  require(access: readonly Demand[]): Promise<void>;
  /** Throws PERMISSION_DENIED if a rule denies an access: for objects whose creation is not committed yet. */
  requireUndenied(access: readonly Demand[]): Promise<void>;
  /** Whether the caller holds a permission on every object of its type, with no deny rule: required to grant it to others. */
  holds(permission: Permission | ResourcePermission): Promise<boolean>;
  /** On how many objects of its type the caller holds a permission. */
  scopeOf(permission: Permission): Promise<PermissionScope>;
  /**
   * Reports unknown fields that only the handler can detect; `at` is the path of the value they are in. Throws VALIDATION_ERROR
   * if the client wants strict handling, so call it before any write.
   */
  reportUnknown(found: UnknownFields, at?: readonly (string | number)[]): void;
  /** Throws PRECONDITION_FAILED if the request has an `If-Match` that does not name this version of the asset. */
  requireMatch(versionNumber: number): void;
  idempotency: IdempotencyClaim | undefined;
  /** The entry of this request in the audit trail. */
  entry: RequestEntry;
  /** Aborted when the client goes away. */
  signal: AbortSignal;
  /** The file of a route with `upload`. */
  file(): Promise<UploadedFile>;
  /** For a route with `produces`, whose handler sends the response itself. */
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
  /**
   * Writes entries of the request into the audit trails of these tenants, before it changes something there. The tenant of `:tenantID`
   * in the path has its entry already.
   */
  auditFor(tenantIDs: readonly string[]): Promise<void>;
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
