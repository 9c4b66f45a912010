import { setTimeout as sleep } from 'node:timers/promises';
import type { FilterQuery } from '@mikro-orm/postgresql';
import { LockMode } from '@mikro-orm/postgresql';
import type { z } from 'zod';
import { propagateRole } from '#shared/access/propagate-roles.ts';
import { AppError } from '#shared/core/errors.ts';
import type { Logger } from '#shared/core/logger.ts';
import type { EntityManager } from '#shared/entities/orm.ts';
import { Role as RoleEntity } from '#shared/entities/tables/role.ts';
import type { ApiContext } from '../../context/context.ts';
import { containing, findPage } from '../../http/fields/paging.ts';
import { tenantEntityManager } from '../../tenant/entity-manager.ts';
import { deleteOwnRole } from './delete.ts';
import { presentRole } from './present.ts';
import type { AllRolesList, RoleCreate, RoleID, RoleUpdate } from './schemas.ts';
import { changeOwnRole } from './update.ts';

/** Roles as operators manage them: they list the roles of every tenant and make roles for all tenants. */

const everyTenant = { filters: { tenant: false as const } };

/** The change may concern thousands of tenants, which takes longer than a client waits. */
const ANSWER_AFTER_MS = 10_000;

interface Work {
  em: EntityManager;
  log: Logger;
}

interface Changing extends Work {
  auditFor(tenantIDs: readonly string[]): Promise<void>;
}

interface OneRole {
  params: z.output<typeof RoleID>;
}

export async function listAllRoles({ em, query }: Pick<Work, 'em'> & { query: z.output<typeof AllRolesList> }) {
  const where: FilterQuery<RoleEntity> = {
    deletingAt: null,
    ...(query.tenantID && { tenantID: query.tenantID }),
    ...(query.search && { roleName: containing(query.search) }),
  };
  const { rows, fields } = await findPage(em, RoleEntity, {
    where,
    query,
    large: ['assetPermissions', 'permissions'],
    ...everyTenant,
  });
  return { roles: rows.map(presentRole), ...fields };
}

/** A new role has no holder, so no tenant has its rules: they are written with the first assignment. */
export async function createGlobalRole({ em, body }: Pick<Work, 'em'> & { body: z.output<typeof RoleCreate> }) {
  const { roleName, roleDescription, permissions = [], assetPermissions = [], folderID, homePageID } = body;
  refuseAssets(assetPermissions);
  refuseFolder(folderID);
  refuseHomePage(homePageID);
  const role = em.create(RoleEntity, { roleName, roleDescription, permissions, assetPermissions });
  await em.flush();
  return { role: presentRole(role), message: 'Role created' };
}

export async function updateAnyRole(
  { em, log, auditFor, params: { roleID }, body }: Changing & OneRole & { body: z.output<typeof RoleUpdate> },
  { pool }: Pick<ApiContext, 'pool'>,
) {
  const { tenantID } = await findAnyRole(em, roleID);
  if (tenantID) {
    await auditFor([tenantID]);
    const role = await changeOwnRole(tenantEntityManager(em, tenantID), { tenantID, roleID, body });
    return { role: presentRole(role), message: 'Role updated' };
  }
  refuseAssets(body.assetPermissions);
  refuseFolder(body.folderID);
  refuseHomePage(body.homePageID);
  const role = await em.transactional(async (tx) => {
    const locked = await findAnyRole(tx, roleID, LockMode.PESSIMISTIC_WRITE);
    tx.assign(locked, { ...body, spreadingAt: new Date() }, { ignoreUndefined: true });
    return locked;
  });
  await propagate(pool, log, roleID);
  return { role: presentRole(role), message: 'Role updated' };
}

export async function deleteAnyRole(
  { em, log, auditFor, params: { roleID } }: Changing & OneRole,
  { pool }: Pick<ApiContext, 'pool'>,
) {
  const { tenantID } = await findAnyRole(em, roleID);
  if (tenantID) {
    await auditFor([tenantID]);
    await deleteOwnRole(tenantEntityManager(em, tenantID), { tenantID, roleID });
  } else {
    await em.transactional(async (tx) => {
      const locked = await findAnyRole(tx, roleID, LockMode.PESSIMISTIC_WRITE);
      tx.assign(locked, { deletingAt: new Date(), spreadingAt: new Date() });
    });
    await propagate(pool, log, roleID);
  }
  return { message: 'Role deleted' };
}

/** Finds a role of any tenant. With a lock it is read again, because it may have changed before the lock. */
async function findAnyRole(em: EntityManager, id: string, lockMode?: LockMode): Promise<RoleEntity> {
  const where = { id, deletingAt: null };
  const role = await em.findOne(RoleEntity, where, { ...everyTenant, refresh: true, ...(lockMode && { lockMode }) });
  if (!role) throw new AppError('NOT_FOUND', 'Role not found');
  return role;
}

/**
 * Applies a changed role in every tenant, and waits for that for a while. The sweep finishes it if this process does
 * not.
 */
async function propagate(pool: ApiContext['pool'], log: Logger, roleID: string): Promise<void> {
  const propagation = propagateRole(pool, roleID).catch((error) =>
    log.warn({ err: error }, 'role is left to the sweep'),
  );
  await Promise.race([propagation, sleep(ANSWER_AFTER_MS, undefined, { ref: false })]);
}

function refuseAssets(assetPermissions: readonly unknown[] = []): void {
  if (assetPermissions.length === 0) return;
  throw new AppError(
    'VALIDATION_ERROR',
    'assetPermissions: not allowed for a role of all tenants, because an asset belongs to one tenant',
  );
}

function refuseFolder(folderID: string | null | undefined): void {
  if (!folderID) return;
  throw new AppError(
    'VALIDATION_ERROR',
    'folderID: not allowed for a role of all tenants, because a folder belongs to one tenant',
  );
}

function refuseHomePage(homePageID: string | null | undefined): void {
  if (!homePageID) return;
  throw new AppError(
    'VALIDATION_ERROR',
    'homePageID: not allowed for a role of all tenants, because a page belongs to one tenant',
  );
}
