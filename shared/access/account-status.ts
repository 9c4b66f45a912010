import type { Caller } from '../core/caller.ts';
import type { Pool } from '../db/pool.ts';

/** A person as the identity provider describes them. */
export interface Person {
  issuer: string;
  subject: string;
  /** Null if the provider says that the person does not own it. */
  email: string | null;
  /** Whether the provider confirms that the person owns it; false also if the provider does not say. */
  isEmailVerified: boolean;
  firstName: string | null;
  lastName: string | null;
}

export interface Membership {
  role: 'ADMIN' | 'MEMBER';
  /** Version of the tenant's rules: cached rules of an older version must not be used. */
  policyVersion: number;
  /** The workflow that the lookup names; absent if it names none, or the tenant has no such workflow. */
  workflow?: WorkflowStatus;
}

/** The current state of a workflow, read in one statement with the membership of the caller who executes it. */
export interface WorkflowStatus {
  /** The published version; null while there are drafts only. */
  versionID: string | null;
  isDisabled: boolean;
}

/** A user, and their membership in the tenant of the request. */
export interface AccountStatus {
  userID: string;
  email: string | null;
  isEmailVerified: boolean;
  isDisabled: boolean;
  /** Whether `last_seen` is less than a minute old and need not be written again. */
  isSeenNoted: boolean;
  /** Null: not a member, or no such tenant; clients are not told which. */
  membership: Membership | null;
}

export interface AccountLookup {
  issuer: string;
  subject: string;
  tenantID: string | null;
  /** The workflow of the tenant to read as well. */
  workflowID?: string | undefined;
}

/** Reads the accounts of any number of lookups by one query, in their order; null for a person who has never signed in. */
export async function readAccountStatuses(
  pool: Pool,
  lookups: readonly AccountLookup[],
): Promise<(AccountStatus | null)[]> {
  const { rows } = await pool.query<AccountStatusRow>({
    name: 'account_statuses',
    text: ACCOUNT_STATUSES,
    values: [
      lookups.map(({ issuer }) => issuer),
      lookups.map(({ subject }) => subject),
      lookups.map(({ tenantID }) => tenantID),
      lookups.map(({ workflowID }) => workflowID ?? null),
    ],
  });
  return rows.map(({ userID, email, isEmailVerified, isDisabled, isSeenNoted, ...row }) =>
    userID === null ? null : { userID, email, isEmailVerified, isDisabled, isSeenNoted, membership: membershipOf(row) },
  );
}

export interface MembershipLookup {
  userID: string;
  tenantID: string;
  workflowID?: string | undefined;
}

/** Memberships of users who were identified before, with the workflow that each lookup names; null for blocked users. */
export async function readMemberships(
  pool: Pool,
  lookups: readonly MembershipLookup[],
): Promise<(Membership | null)[]> {
  const { rows } = await pool.query<MembershipRow>({
    name: 'memberships',
    text: MEMBERSHIPS,
    values: [
      lookups.map(({ userID }) => userID),
      lookups.map(({ tenantID }) => tenantID),
      lookups.map(({ workflowID }) => workflowID ?? null),
    ],
  });
  return rows.map(membershipOf);
}

/** An API key found by its first characters, its creator, and the creator's membership in the key's tenant. */
export interface KeyStatus {
  keyID: string;
  tenantID: string;
  hash: Buffer;
  isExpired: boolean;
  /** Whether `last_used_at` is less than a minute old and need not be written again. */
  isUseNoted: boolean;
  userID: string;
  email: string | null;
  /** Whether the creator is blocked. */
  isBlocked: boolean;
  /** Null: the creator is blocked, or no longer a member. */
  membership: Membership | null;
}

export interface KeyLookup {
  prefix: string;
  /** The workflow of the key's tenant to read as well. */
  workflowID?: string | undefined;
}

/** Finds the keys that are not disabled by their prefix, which several may share. One query for all lookups; results in their order. */
export async function readKeys(pool: Pool, lookups: readonly KeyLookup[]): Promise<KeyStatus[][]> {
  const { rows } = await pool.query<Omit<KeyStatus, 'membership'> & MembershipRow & { n: number }>({
    name: 'api_keys',
    text: KEYS,
    values: [lookups.map(({ prefix }) => prefix), lookups.map(({ workflowID }) => workflowID ?? null)],
  });
  const found: KeyStatus[][] = lookups.map(() => []);
  for (const { n, role, policyVersion, versionID, isWorkflowDisabled, ...key } of rows) {
    const membership = membershipOf({ role, policyVersion, versionID, isWorkflowDisabled });
    found[n - 1]?.push({ ...key, membership });
  }
  return found;
}

/** The prefix by which a key is found; undefined if the key does not exist. */
export async function readKeyPrefix(pool: Pool, keyID: string): Promise<string | undefined> {
  const { rows } = await pool.query<{ prefix: string }>('select prefix from api_key where id = $1', [keyID]);
  return rows[0]?.prefix;
}

/** Writes that keys are in use now. */
export async function noteKeyUse(pool: Pool, keyIDs: readonly string[]): Promise<void> {
  await pool.query(note('api_key', 'last_used_at'), [keyIDs]);
}

/** Writes that users are active now. */
export async function noteSeen(pool: Pool, userIDs: readonly string[]): Promise<void> {
  await pool.query(note('app_user', 'last_seen'), [userIDs]);
}

/** Skips locked rows, so that no deadlock can arise; the next request writes them again. */
const note = (table: string, column: string) => `
update ${table} set ${column} = now()
where id in (select id from ${table} where id = any($1::uuid[]) for no key update skip locked)`;

/** The version of the tenant's rules, or null if the caller may no longer act in the tenant. */
export async function readActingVersion(
  pool: Pool,
  tenantID: string,
  caller: Pick<Caller, 'type' | 'id' | 'userID'>,
): Promise<number | null> {
  const keyID = caller.type === 'apiKey' ? caller.id : null;
  const { rows } = await pool.query<{ version: number }>(ACTING, [tenantID, caller.userID ?? caller.id, keyID]);
  return rows[0]?.version ?? null;
}

/** The versions of tenants' rules; a tenant that is gone or being deleted has none. */
export async function readPolicyVersions(
  pool: Pool,
  tenantIDs: readonly string[],
): Promise<ReadonlyMap<string, number>> {
  const { rows } = await pool.query<{ id: string; version: number }>({
    name: 'policy_versions',
    text: VERSIONS,
    values: [tenantIDs],
  });
  return new Map(rows.map(({ id, version }) => [id, version]));
}

interface MembershipRow {
  role: Membership['role'] | null;
  policyVersion: number | null;
  versionID?: string | null;
  isWorkflowDisabled?: boolean | null;
}

type AccountStatusRow = MembershipRow &
  (
    | { userID: string; email: string | null; isEmailVerified: boolean; isDisabled: boolean; isSeenNoted: boolean }
    | { userID: null; email: null; isEmailVerified: null; isDisabled: null; isSeenNoted: boolean }
  );

function membershipOf({ role, policyVersion, versionID, isWorkflowDisabled }: MembershipRow): Membership | null {
  if (role === null || policyVersion === null) return null;
  return {
    role,
    policyVersion,
    // The column is never null, so this tells whether a workflow was found.
    ...(typeof isWorkflowDisabled === 'boolean' && {
      workflow: { versionID: versionID ?? null, isDisabled: isWorkflowDisabled },
    }),
  };
}

const WORKFLOW = 'w.version_id as "versionID", w.is_disabled as "isWorkflowDisabled"';

const ACCOUNT_STATUSES = `
select u.id as "userID", u.email, u.is_disabled as "isDisabled",
  coalesce(u.last_seen > now() - interval '1 minute', false) as "isSeenNoted",
  case when u.id is not null then u.email_verified_at is not null end as "isEmailVerified", m.role, t.policy_version as "policyVersion",
  ${WORKFLOW}
from unnest($1::text[], $2::text[], $3::uuid[], $4::uuid[]) with ordinality as q(issuer, subject, tenant_id, workflow_id, n)
left join app_user u on u.issuer = q.issuer and u.subject = q.subject
left join membership m on m.user_id = u.id and m.tenant_id = q.tenant_id
left join tenant t on t.id = m.tenant_id and t.deleting_at is null
left join workflow w on w.id = q.workflow_id and w.tenant_id = t.id
order by q.n`;

const MEMBERSHIPS = `
select m.role, t.policy_version as "policyVersion",
  ${WORKFLOW}
from unnest($1::uuid[], $2::uuid[], $3::uuid[]) with ordinality as q(user_id, tenant_id, workflow_id, n)
left join app_user u on u.id = q.user_id and not u.is_disabled
left join membership m on m.user_id = u.id and m.tenant_id = q.tenant_id
left join tenant t on t.id = m.tenant_id and t.deleting_at is null
left join workflow w on w.id = q.workflow_id and w.tenant_id = t.id
order by q.n`;

const VERSIONS = `
select id, policy_version as version from tenant where id = any($1::uuid[]) and deleting_at is null`;

const KEYS = `
select q.n, k.id as "keyID", k.tenant_id as "tenantID", k.hash, coalesce(k.expires_at <= now(), false) as "isExpired",
       coalesce(k.last_used_at > now() - interval '1 minute', false) as "isUseNoted",
       k.creator_id as "userID", u.email, u.is_disabled as "isBlocked", m.role, t.policy_version as "policyVersion",
       ${WORKFLOW}
from unnest($1::text[], $2::uuid[]) with ordinality as q(prefix, workflow_id, n)
join api_key k on k.prefix = q.prefix and not k.is_disabled
join app_user u on u.id = k.creator_id
left join membership m on m.user_id = u.id and m.tenant_id = k.tenant_id and not u.is_disabled
left join tenant t on t.id = m.tenant_id and t.deleting_at is null
left join workflow w on w.id = q.workflow_id and w.tenant_id = t.id`;

const ACTING = `
select t.policy_version as version
from tenant t join membership m on m.tenant_id = t.id join app_user u on u.id = m.user_id and not u.is_disabled
where t.id = $1 and t.deleting_at is null and u.id = $2
  and ($3::uuid is null or exists (
    select from api_key k where k.id = $3 and k.tenant_id = t.id and k.creator_id = u.id and not k.is_disabled
      and coalesce(k.expires_at > now(), true)))`;
