import type { EntityManager } from '@mikro-orm/postgresql';
import { AppError } from '../../core/errors.ts';
import { inEntityTransaction, onEntities, type Query } from '../../db/query.ts';
import { lockRules, type RuleSpec, writeRules } from './change.ts';
import { type AssetPermission, type RolePermission, ruleOf } from './permissions.ts';

/** The permissions that a role grants. */
export interface RoleContent {
  permissions: readonly RolePermission[];
  assetPermissions: readonly AssetPermission[];
}

export interface StoredRole extends RoleContent {
  id: string;
  /** Null: a role of the deployment, created by its operators. */
  tenantID: string | null;
  roleName: string;
}

/** Numbers of rules that were added and removed. */
export interface Difference {
  added: number;
  removed: number;
}

type Allowance = Extract<RuleSpec, { object: string }>;

const PREFIX = 'role:';

/** The name of a role as the subject of rules and in groupings. */
export function roleSubject(roleID: string): string {
  return PREFIX + roleID;
}

/** The rules that grant a role's permissions. */
export function rulesOfRole({ id, permissions, assetPermissions }: RoleContent & { id: string }): Allowance[] {
  const subject = roleSubject(id);
  const general = permissions.map((permission) => ({ subject, ...ruleOf(permission) }));
  const single = assetPermissions.map(({ resourceType, resourceID, action }) => ({
    subject,
    object: `${resourceType}:${resourceID}`,
    action,
  }));
  return [...general, ...single];
}

/** Reads roles of the tenant or the deployment by id; VALIDATION_ERROR for ids that are not of such a role. */
export async function requireRoles(
  em: EntityManager,
  tenantID: string,
  roleIDs: readonly string[],
): Promise<StoredRole[]> {
  if (roleIDs.length === 0) return [];
  return requireAll(await readRoles(onEntities(em), tenantID, roleIDs), roleIDs);
}

/**
 * Flushes the entity manager, then makes these the only roles of a user or an API key, in its transaction or a new one.
 */
export async function setRoles(
  em: EntityManager,
  tenantID: string,
  subject: string,
  roleIDs: readonly string[],
): Promise<void> {
  await inEntityTransaction(em, async () => {
    await em.flush();
    const query = onEntities(em);
    await lockRules(query, tenantID);
    requireAll(await assignRoles(query, tenantID, { subject, roleIDs }), roleIDs);
  });
}

/**
 * Like `setRoles`, in the transaction of `query`, which has locked the tenant's rules. Ignores ids that are not of a role. Returns the
 * roles that were assigned.
 */
export async function assignRoles(
  query: Query,
  tenantID: string,
  { subject, roleIDs }: { subject: string; roleIDs: readonly string[] },
): Promise<StoredRole[]> {
  // Locks the roles: a concurrent change of a role of the deployment waits, and then finds this tenant among those that have the role.
  const roles = roleIDs.length > 0 ? await readRoles(query, tenantID, roleIDs, 'for share') : [];
  const wanted = new Set(roles.map(({ id }) => roleSubject(id)));
  const { rows } = await query<{ role: string }>(
    `select role from policy_rule where tenant_id = $1 and kind = 'grouping' and subject = $2 and role like '${PREFIX}%'`,
    [tenantID, subject],
  );
  const assigned = new Set(rows.map(({ role }) => role));

  const add = [...wanted].filter((role) => !assigned.has(role)).map((role) => ({ subject, role }));
  const remove = [...assigned].filter((role) => !wanted.has(role)).map((role) => ({ subject, role }));
  await writeRules(query, tenantID, { add, remove });
  await rewriteRoles(
    query,
    tenantID,
    roles.filter((role) => role.tenantID === null),
  );
  return roles;
}

/**
 * Adds and removes rules until the tenant has exactly the rules of these roles. Returns the numbers of each role. Rules that
 * deny a role something do not come from its permissions, and stay.
 */
export async function rewriteRoles(
  query: Query,
  tenantID: string,
  roles: readonly (RoleContent & { id: string })[],
): Promise<Map<string, Difference>> {
  const differences = new Map<string, Difference>();
  if (roles.length === 0) return differences;
  await lockRules(query, tenantID);
  const stored = await readAllowances(query, tenantID, roles);

  const change = { add: [] as Allowance[], remove: [] as Allowance[] };
  for (const role of roles) {
    const wanted = new Map(rulesOfRole(role).map((rule) => [keyOf(rule), rule]));
    const present = stored.get(role.id) ?? new Map<string, Allowance>();
    const add = [...wanted].filter(([key]) => !present.has(key)).map(([, rule]) => rule);
    const remove = [...present].filter(([key]) => !wanted.has(key)).map(([, rule]) => rule);
    change.add.push(...add);
    change.remove.push(...remove);
    differences.set(role.id, { added: add.length, removed: remove.length });
  }
  const remove = change.remove.map((rule) => ({ ...rule, effect: 'allow' as const }));
  await writeRules(query, tenantID, { add: change.add, remove });
  return differences;
}

/** Reads the ids of the roles of each subject. */
export async function readRoleIDs(
  query: Query,
  tenantID: string,
  subjects: readonly string[],
): Promise<Map<string, string[]>> {
  const { rows } = await query<{ subject: string; roleID: string }>(ROLE_IDS, [tenantID, JSON.stringify(subjects)]);
  const assigned = new Map<string, string[]>(subjects.map((subject) => [subject, []]));
  for (const { subject, roleID } of rows) assigned.get(subject)?.push(roleID);
  return assigned;
}

/** Removes a role from a tenant: its own rules, its groupings, and the rules with the role as object. */
export async function removeRole(query: Query, tenantID: string, roleID: string): Promise<void> {
  const role = roleSubject(roleID);
  await writeRules(query, tenantID, { remove: [{ subject: role }, { role }, { object: role }] });
}

/** Removes an asset that is being deleted from the permissions of the tenant's roles. */
export async function forgetAsset(
  query: Query,
  tenantID: string,
  { type, id }: { type: string; id: string },
): Promise<void> {
  await query(FORGET, [tenantID, type, id, JSON.stringify([{ resourceType: type, resourceID: id }])]);
}

function readRoles(
  query: Query,
  tenantID: string,
  roleIDs: readonly string[],
  lock: '' | 'for share' = '',
): Promise<StoredRole[]> {
  const values = [tenantID, JSON.stringify(roleIDs)];
  return query<StoredRole>(`${READ} ${lock}`, values).then(({ rows }) => rows);
}

function requireAll(roles: StoredRole[], roleIDs: readonly string[]): StoredRole[] {
  const known = new Set(roles.map(({ id }) => id));
  const issues = roleIDs.flatMap((id, index) =>
    known.has(id) ? [] : [{ path: ['roleIDs', index], message: 'is not a role of this tenant', type: 'custom' }],
  );
  if (issues.length === 0) return roles;
  const message = issues.map(({ path, message }) => `${path.join('.')}: ${message}`).join('; ');
  throw new AppError('VALIDATION_ERROR', message, { details: { issues } });
}

async function readAllowances(
  query: Query,
  tenantID: string,
  roles: readonly { id: string }[],
): Promise<Map<string, Map<string, Allowance>>> {
  const { rows } = await query<Allowance>(ALLOWANCES, [
    tenantID,
    JSON.stringify(roles.map(({ id }) => roleSubject(id))),
  ]);
  const byRole = new Map<string, Map<string, Allowance>>();
  for (const rule of rows) {
    const id = rule.subject.slice(PREFIX.length);
    const known = byRole.get(id) ?? new Map<string, Allowance>();
    byRole.set(id, known.set(keyOf(rule), rule));
  }
  return byRole;
}

function keyOf({ object, action }: Allowance): string {
  return `${object} ${action}`;
}

const READ = `
select id, tenant_id as "tenantID", role_name as "roleName", permissions, asset_permissions as "assetPermissions"
from role
where id in (select value::uuid from jsonb_array_elements_text($2::jsonb)) and (tenant_id = $1 or tenant_id is null) and deleting_at is null
order by id`;

const ALLOWANCES = `
select subject, object, action from policy_rule
where tenant_id = $1 and kind = 'rule' and effect = 'allow' and subject in (select jsonb_array_elements_text($2::jsonb))`;

const ROLE_IDS = `
select subject, substr(role, ${PREFIX.length + 1}) as "roleID" from policy_rule
where tenant_id = $1 and kind = 'grouping' and role like '${PREFIX}%'
  and subject in (select jsonb_array_elements_text($2::jsonb))
order by role`;

const FORGET = `
update role set asset_permissions = (
  select coalesce(jsonb_agg(granted order by n), '[]') from jsonb_array_elements(asset_permissions) with ordinality as a(granted, n)
  where granted ->> 'resourceType' <> $2 or granted ->> 'resourceID' <> $3
)
where tenant_id = $1 and asset_permissions @> $4::jsonb`;
