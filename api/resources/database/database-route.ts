import type { z } from 'zod';
import type { Permission } from '#shared/access/policy/permissions.ts';
import type { JsonObject } from '#shared/core/json.ts';
import { type DatabaseOperation, tenantDatabase } from '#shared/messaging/queues/tenant-database.ts';
import type { ApiContext } from '../../context/context.ts';
import { type ApiRoute, tenantRoute } from '../../context/routes.ts';
import type { FieldAliases } from '../../http/fields/field-aliases.ts';
import type { Parsed, TenantInput } from '../../http/route/input.ts';
import type { Method, Verb } from '../../http/route/route.ts';

interface DatabaseRoute<P extends z.ZodType, Q extends z.ZodType, B extends z.ZodType, R extends z.ZodType> {
  name: string;
  method: Method;
  /** Path below `T/database`. */
  path: string;
  summary: string;
  description: string;
  permission: Extract<Permission, `database.${string}`>;
  params?: P;
  query?: Q;
  body?: B;
  takesData?: true;
  aliases?: FieldAliases;
  response: R;
  status?: 201;
  operation(request: Parsed<P, Q, B>): DatabaseOperation;
}

/** A route whose request is answered by a worker. */
export function databaseRoute<
  P extends z.ZodType = z.ZodType<Record<string, never>>,
  Q extends z.ZodType = z.ZodType<Record<string, never>>,
  B extends z.ZodType = z.ZodType<undefined>,
  R extends z.ZodType = z.ZodType,
>({ operation, path, method, ...route }: DatabaseRoute<P, Q, B, R>): ApiRoute {
  const verb: Verb = method === 'post' ? { method, idempotent: 'outside' } : { method };
  return tenantRoute<string, P, Q, B, R>({
    ...route,
    ...verb,
    path: `/database${path}`,
    onWholeType: true,
    errors: ['409', '502', '504', ...(route.params ? (['404'] as const) : [])],

    async handle(input, context) {
      // Safe cast: the response schema of the route parses it before it is sent.
      return (await askDatabase(input, context, operation(input))) as z.input<R>;
    },
  });
}

type RequestSender = Pick<TenantInput<z.ZodType, z.ZodType, z.ZodType>, 'tenantID' | 'signal'>;

/** Time beyond the limit of the statement itself. */
const TIMEOUT_MS = 5_000;
const EXPORT_MS = 300_000;

export function askDatabase(
  { tenantID, signal }: RequestSender,
  { messaging: { producer } }: ApiContext,
  operation: DatabaseOperation,
): Promise<JsonObject> {
  const timeout =
    (operation.kind === 'executeSQL' && { timeoutMs: Math.round(operation.timeoutSeconds * 1000) + TIMEOUT_MS }) ||
    (operation.kind === 'exportRows' && { timeoutMs: EXPORT_MS + TIMEOUT_MS });
  return producer.request(
    tenantDatabase,
    { tenantID, operation },
    { signal, limitKeys: { tenant: tenantID }, ...timeout },
  );
}
