import type { Permission } from '#shared/access/policy/permissions.ts';
import type { Schema } from '../http/openapi/types.ts';
import type { Identity, Route } from '../http/route/route.ts';

/** A caller of tools in one tenant. Nothing that it may do is kept between two calls. */
export interface ToolCaller {
  tenantID: string;
  /**
   * Credentials are checked with every call, as those of a request are. A user or an API key that was identified before has the
   * membership that the tenant gives them at the time of the call; a key that is revoked by then is refused.
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
  /** Aborted, the call is treated as a request whose client has gone away. */
  signal?: AbortSignal | undefined;
  /** The key of the request: it is done once. */
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
  /** A caller who has all of one of these lists may call it; which objects it may name is checked by the call. */
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
  /** Arguments that a model need not give, because the default of the route would fill its context. */
  defaults: Readonly<Record<string, string | number>>;
  /** All arguments but these are fields of this field of the body. */
  lifted?: { into: string; others: readonly string[] };
  fields: { path: readonly string[]; query: readonly string[]; body: 'none' | 'object' | 'other' };
}

/** A tool that calls other tools by the rights of its caller. */
export interface ComposedTool extends ToolDefinition {
  run(args: ToolArguments, call: (name: string, args: ToolArguments) => Promise<ToolResult>): Promise<ToolResult>;
}

export type TenantRoute = Extract<Route, { realm: 'tenant' }>;
