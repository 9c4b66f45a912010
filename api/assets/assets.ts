import type { EntityClass, EntityManager, RequiredEntityData } from '@mikro-orm/postgresql';
import { changeRules } from '#shared/access/policy/change.ts';
import type { Resource } from '#shared/access/policy/permissions.ts';
import { forgetAsset } from '#shared/access/policy/roles.ts';
import { quotaOfTable } from '#shared/access/quotas.ts';
import type { Caller } from '#shared/core/caller.ts';
import { inEntityTransaction, onEntities } from '#shared/db/query.ts';
import { requireNoBoundary } from '../auth/permission-boundary.ts';
import { addRules, requireHeadroom } from './created-together.ts';
import { folderedTypeOf, requireFolder } from './folders.ts';

/** Columns of every asset of a tenant: see `owned` in `shared/entities/base.ts`. */
interface Asset {
  id: string;
  tenantID: string;
  creatorID: string;
  createdByApiKeyID?: string | null;
}

/** The fields of `Asset`, nullable: roles of the whole deployment have no tenant and no creator. */
type NewAsset = { [K in keyof Asset]?: Asset[K] | null } & { id: string };

/** Assets that act later, with the permissions of their creator; the texts name them in errors. */
const acting = { apikey: 'an API key', appPage: 'an app page', cronjob: 'a cron job', listener: 'a listener' };

type Owner = 'tenantID' | 'creatorID' | 'createdByApiKeyID';

/**
 * Writes an asset of the entity manager's tenant if its quota has room, flushes other pending changes, and grants `*` on it to its creator: the user
 * and, if there is one, the API key. All in one transaction, the caller's if there is one.
 */
export async function createAsset<E extends NewAsset>(
  em: EntityManager,
  caller: Caller,
  type: Resource,
  entity: EntityClass<E>,
  data: Omit<RequiredEntityData<E>, Owner>,
): Promise<E> {
  if (isActing(type)) requireNoBoundary(caller, acting[type]);
  const tenantID = tenantOf(em);
  const creatorID = caller.userID ?? caller.id;
  const createdByApiKeyID = caller.type === 'apiKey' ? caller.id : null;
  // Adds the fields that `Omit` took out of the type.
  const asset = em.create(entity, { ...data, tenantID, creatorID, createdByApiKeyID } as RequiredEntityData<E>);
  em.persist(asset);

  const creators = caller.type === 'system' ? [caller.userID] : [caller.userID, caller.id];
  const subjects = new Set(creators.filter((id) => id !== undefined));
  const entityType = folderedTypeOf(type);
  const quota = quotaOfTable(em.getMetadata().get(entity).tableName);
  await inEntityTransaction(em, async () => {
    if (quota) await requireHeadroom(em, quota, tenantID);
    if (entityType && 'folderID' in data)
      await requireFolder(em, entityType, data.folderID as string | null | undefined);
    await em.flush();
    const add = [...subjects].map((subject) => ({ subject, object: `${type}:${asset.id}`, action: '*' }));
    await addRules(em, tenantID, add);
  });
  return asset;
}

function isActing(type: Resource): type is keyof typeof acting {
  return Object.hasOwn(acting, type);
}

/** Removes an asset, every rule on it and the grants of roles on it, and flushes other pending changes. */
export async function deleteAsset<E extends Asset>(em: EntityManager, type: Resource, asset: E): Promise<void> {
  const { id, tenantID } = asset;
  em.remove(asset);
  await inEntityTransaction(em, async () => {
    await changeRules(em, tenantID, { remove: [{ object: `${type}:${id}` }] });
    await forgetAsset(onEntities(em), tenantID, { type, id });
    await onEntities(em)('delete from bundle_key where tenant_id = $1 and asset_id = $2', [tenantID, id]);
  });
}

function tenantOf(em: EntityManager): string {
  const { tenantID } = em.getFilterParams<{ tenantID?: string }>('tenant') ?? {};
  if (!tenantID) throw new Error('An asset needs an entity manager that is narrowed to its tenant');
  return tenantID;
}
