import type { z } from 'zod';
import { runCooperatively } from '#shared/concurrency/cooperative.ts';
import { AppError } from '#shared/core/errors.ts';
import type { JsonObject } from '#shared/core/json.ts';
import { mapPaths, type Path } from '#shared/core/schema/issues.ts';
import type { EntityManager } from '#shared/entities/orm.ts';
import type { ApiContext } from '../../context/context.ts';
import type { ApiRoute } from '../../context/routes.ts';
import type { UnknownFieldPolicy } from '../../http/request/unknown-field-policy.ts';
import { validation } from '../../http/request/validate.ts';
import type { Demand, TenantInput } from '../../http/route/input.ts';

/** The request that an import is a part of; its entity manager is in the transaction of the import. */
export type ImportInput = Pick<
  TenantInput<z.ZodType, z.ZodType, z.ZodType>,
  | 'em'
  | 'tenantID'
  | 'caller'
  | 'identity'
  | 'log'
  | 'require'
  | 'requireUndenied'
  | 'holds'
  | 'visible'
  | 'reportUnknown'
  | 'entry'
>;

export interface Importing {
  input: ImportInput;
  context: ApiContext;
  /** Objects that the import creates. Their creator has all permissions on them, by rules that are not committed yet. */
  created: ReadonlySet<string>;
  /** A rollback saves what the tenant had stored, perhaps before settings had a limit. */
  isRollback?: true;
}

interface Call {
  params?: Record<string, string>;
  body?: JsonObject;
  /** The id of the asset that is created. */
  id?: string;
  /** The path of the body in the request, for errors. */
  at: Path;
  what: string;
}

/**
 * Does what a request to a route of the tenant would do, with the caller's permissions, in the transaction of the
 * import.
 */
export async function runHandler(importing: Importing, route: ApiRoute, { params = {}, body, id, at, what }: Call) {
  if (route.realm !== 'tenant') throw new Error(`${route.path} is no route of a tenant`);
  const { input, context, created, isRollback } = importing;
  const unknownFieldPolicy: UnknownFieldPolicy = { isStrict: false, unknown: { fields: [], count: 0 } };
  const require = async (access: readonly Demand[]) => {
    const { own = [], other = [] } = Object.groupBy(access, ({ object }) => (created.has(object) ? 'own' : 'other'));
    await input.require(other);
    await input.requireUndenied(own);
  };
  try {
    const checks = [
      { part: 'params' as const, schema: route.params, value: params },
      { part: 'body' as const, schema: route.body, value: body, isStored: isRollback },
    ];
    const [parsedParams, parsedBody] = await runCooperatively(validation(checks, unknownFieldPolicy));
    const parsed = { params: parsedParams, query: {}, body: parsedBody };
    await require(route.access(parsed));
    return await route.handle(
      {
        ...input,
        ...parsed,
        em: freshIn(input.em),
        require,
        newAssetID: () => id,
        reportUnknown: (found: Parameters<ImportInput['reportUnknown']>[0]) => input.reportUnknown(found, at),
        requireMatch: () => undefined,
      },
      context,
    );
  } catch (error) {
    throw explained(error, { at, what });
  }
}

/** A fork without the entities of earlier items, which each flush would compare with the database again. */
export function freshIn(em: EntityManager): EntityManager {
  return em.fork({ keepTransactionContext: true, clear: true });
}

/** The same error with paths of the request, or with the name of the item. */
function explained(error: unknown, { at, what }: Pick<Call, 'at' | 'what'>): unknown {
  const mapped = mapPaths(error, (path) => [...at, ...path]);
  if (mapped !== error || !(error instanceof AppError)) return mapped;
  const { code, message, cause, status, retry, details, reason } = error;
  return new AppError(code, `${what}: ${message}`, { cause, status, retry, details, reason });
}
