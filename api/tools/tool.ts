import type { Permission } from '#shared/access/policy/permissions.ts';
import type { Schema } from '../http/openapi/types.ts';
import type { Identity, Route } from '../http/route/route.ts';

/** A caller of tools in one tenant. Its permissions are read again for each call. */
export interface ToolCaller {
  tenantID: string;
  /**
   * Credentials are checked for every call, as those of a request are. A user or an API key that was identified before
   * has the membership in the tenant at the time of the call; a key that has been revoked is refused.
   */
  who: Credentials | { identity: Identity };
  /** For the audit trail. */
  ip?: string | undefined;
  userAgent?: string | undefined;
  requestID?: string | undefined;
}

/** The headers of a request. */
export interface Credentials {
  authorization?: string | undefined;
  apiKey?: string | undefined;
}

export type ToolArguments = Readonly<Record<string, unknown>>;

export interface ToolOptions {
  /** If it is aborted, the call is treated as a request whose client has disconnected. */
  signal?: AbortSignal | undefined;
  /** The idempotency key of the request. */
  idempotencyKey?: string | undefined;
}

/** The response that REST would give: its status, and its body. */
export interface ToolResult {
  status: number;
  body: Record<string, unknown>;
}

export interface ToolAnnotations {
  title: string;
  readOnlyHint: boolean;
  destructiveHint: boolean;
  idempotentHint: boolean;
  openWorldHint: boolean;
}

export interface ToolDefinition {
  name: string;
  /** The tag of its routes. */
  group: string;
  /** For a model: what it does, when to use it, what it costs. */
  description: string;
  inputSchema: Schema;
  outputSchema: Schema;
  annotations: ToolAnnotations;
  /**
   * Alternatives: a caller who has all permissions of one list may call the tool. The call itself checks permissions
   * on objects that it names.
   */
  required: readonly (readonly Requirement[])[];
}

/** A permission on `object`, or on at least one object of its type. */
export interface Requirement {
  permission: Permission;
  object?: string;
}

/** A tool with the route that serves it. */
export interface RouteTool extends ToolDefinition {
  route: TenantRoute;
  /** Fields of the request by the name of the tool's argument. */
  renamed: Readonly<Record<string, string>>;
  /** Defaults of the tool, where the default of the route would fill the context of a model. */
  defaults: Readonly<Record<string, string | number>>;
  /** If it is set, all arguments except `others` are fields of the field `into` of the body. */
  lifted?: { into: string; others: readonly string[] };
  fields: { path: readonly string[]; query: readonly string[]; body: 'none' | 'object' | 'other' };
}

/** A tool that calls other tools with the permissions of its caller. */
export interface ComposedTool extends ToolDefinition {
  run(args: ToolArguments, call: (name: string, args: ToolArguments) => Promise<ToolResult>): Promise<ToolResult>;
}

export type TenantRoute = Extract<Route, { realm: 'tenant' }>;
