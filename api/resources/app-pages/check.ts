import type { EntityClass } from '@mikro-orm/postgresql';
import { readActingVersion } from '#shared/access/account-status.ts';
import { splitPermission } from '#shared/access/policy/permissions.ts';
import { type Caller, subjectsOf } from '#shared/core/caller.ts';
import type { JsonObject } from '#shared/core/json.ts';
import { type Issue, invalid } from '#shared/core/schema/issues.ts';
import type { EntityManager } from '#shared/entities/orm.ts';
import { DataQuery } from '#shared/entities/tables/data-query.ts';
import { Listener } from '#shared/entities/tables/listener.ts';
import { Workflow } from '#shared/entities/tables/workflow.ts';
import type { ApiContext } from '../../context/context.ts';
import type { Access } from '../../http/route/input.ts';
import { type Binding, bindingsOf, boundTypes, demandOf, demandsOf, keyOfDemand } from '../../pages/bindings.ts';

interface Saving {
  em: EntityManager;
  caller: Caller;
  require(access: readonly Access[]): Promise<void>;
}

interface Page {
  tenantID: string;
  creatorID: string;
  createdByApiKeyID?: string | null;
}

/**
 * Requires that a page which is not a draft may bind the assets that its config names: they exist, and both the caller and the creator of
 * the page, as whom they run for viewers, may execute them.
 */
export async function requireBindable(
  { em, caller, require }: Saving,
  context: Pick<ApiContext, 'pool' | 'access'>,
  { page, config }: { page: Page; config: JsonObject },
): Promise<void> {
  await require(demandsOf(config));
  const issues = await findMissing(em, config);
  if (issues.length > 0) throw invalid(issues);
  const creator = creatorOf(page);
  const isOwn = creator.id === caller.id && creator.userID === caller.userID;
  const denied = isOwn ? [] : await findDenied(context, { tenantID: page.tenantID, creator, config });
  if (denied.length > 0) throw invalid(denied);
}

/** The user or the API key as whom a page runs what it binds. */
export function creatorOf({ creatorID, createdByApiKeyID }: Page): Caller {
  return createdByApiKeyID
    ? { type: 'apiKey', id: createdByApiKeyID, userID: creatorID, origin: 'direct' }
    : { type: 'user', id: creatorID, userID: creatorID, origin: 'direct' };
}

const entities: Record<Binding['type'], EntityClass<{ id: string }>> = {
  query: DataQuery,
  workflow: Workflow,
  listener: Listener,
  runs: Workflow,
};

/** Assets that a config binds and the tenant does not have. */
export async function findMissing(em: EntityManager, config: JsonObject): Promise<Issue[]> {
  const found = new Set<string>();
  for (const [type, bindings] of Map.groupBy(bindingsOf(config), (binding) => binding.type)) {
    const where = { id: { $in: [...new Set(bindings.map(({ id }) => id))] } };
    for (const { id } of await em.find(entities[type], where, { fields: ['id'] })) found.add(id);
  }
  return bindingsOf(config)
    .filter(({ id }) => !found.has(id))
    .map((binding) => ({ path: pathOf(binding), message: `there is no such ${boundTypes[binding.type].noun}` }));
}

async function findDenied(
  { pool, access: { policy } }: Pick<ApiContext, 'pool' | 'access'>,
  { tenantID, creator, config }: { tenantID: string; creator: Caller; config: JsonObject },
): Promise<Issue[]> {
  const version = await readActingVersion(pool, tenantID, creator);
  const policyCaller = version === null ? null : { tenantID, version, subjects: subjectsOf(creator) };
  const denied = new Set<string>();
  for (const demand of demandsOf(config)) {
    const { permission, object } = demand;
    const [, action] = splitPermission(permission);
    if (!policyCaller || !(await policy.can({ ...policyCaller, object, action }))) denied.add(keyOfDemand(demand));
  }
  if (denied.size === 0) return [];
  const issues = bindingsOf(config)
    .filter((binding) => denied.has(keyOfDemand(demandOf(binding))))
    .map((binding) => ({
      path: pathOf(binding),
      message: `the creator of the page may not ${boundTypes[binding.type].action} this ${boundTypes[binding.type].noun}`,
    }));
  const widgets = {
    path: ['appPageConfig', 'widgets'],
    message: 'the creator of the page may not execute all of them',
  };
  return issues.length > 0 ? issues : [widgets];
}

function pathOf({ type, index }: Pick<Binding, 'type' | 'index'>): (string | number)[] {
  return ['appPageConfig', 'dataSources', index, boundTypes[type].field];
}
