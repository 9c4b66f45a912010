import type { Caller } from '../caller.ts';
import type { Pool } from './pool.ts';

/** A person as the identity provider describes them. */
export interface Person {
  issuer: string;
  subject: string;
  /** Null when the provider says that it is not theirs. */
  email: string | null;
  /** Whether the provider says that it is theirs, and not just nothing. */
  isEmailVerified: boolean;
  firstName: string | null;
  lastName: string | null;
}

export interface Membership {
  role: 'ADMIN' | 'MEMBER';
  /** Rules older than this must not be used. */
  policyVersion: number;
}

/** Who somebody is here, and what they are in the tenant they ask for. */
export interface Standing {
  userID: string;
  email: string | null;
  isEmailVerified: boolean;
  isDisabled: boolean;
  /** Not older than a minute: not worth writing down again. */
  isSeenNoted: boolean;
  /** Null: no member, or no such tenant; nobody is told which. */
  membership: Membership | null;
}

export interface StandingQuestion {
  issuer: string;
  subject: string;
  tenantID: string | null;
}

/** One query for any number of requests; in their order, null for a person we have never seen. */
export async function readStandings(pool: Pool, questions: readonly StandingQuestion[]): Promise<(Standing | null)[]> {
  const { rows } = await pool.query<StandingRow>({
    name: 'standings',
    text: STANDINGS,
    values: [
      questions.map(({ issuer }) => issuer),
      questions.map(({ subject }) => subject),
      questions.map(({ tenantID }) => tenantID),
    ],
  });
  return rows.map(({ userID, email, isEmailVerified, isDisabled, isSeenNoted, ...row }) =>
    userID === null ? null : { userID, email, isEmailVerified, isDisabled, isSeenNoted, membership: membershipOf(row) },
  );
}

/** What users are in tenants, for whoever is connected for longer than one request; blocked ones are nothing. */
export async function readMemberships(
  pool: Pool,
  questions: readonly { userID: string; tenantID: string }[],
): Promise<(Membership | null)[]> {
  const { rows } = await pool.query<MembershipRow>({
    name: 'memberships',
    text: MEMBERSHIPS,
    values: [questions.map(({ userID }) => userID), questions.map(({ tenantID }) => tenantID)],
  });
  return rows.map(membershipOf);
}

/** A key by whose first characters a request presents one, its creator, and what they are in the key's tenant. */
export interface KeyStanding {
  keyID: string;
  tenantID: string;
  hash: Buffer;
  isExpired: boolean;
  /** Null or older than a minute: worth writing down that it is used. */
  isUseNoted: boolean;
  userID: string;
  email: string | null;
  /** The creator. */
  isBlocked: boolean;
  /** Null: the creator is blocked, or no member any more. */
  membership: Membership | null;
}

/** Of keys that are not disabled; several may begin alike. One query for any number of requests, in their order. */
export async function readKeys(pool: Pool, prefixes: readonly string[]): Promise<KeyStanding[][]> {
  const { rows } = await pool.query<Omit<KeyStanding, 'membership'> & MembershipRow & { n: number }>({
    name: 'api_keys',
    text: KEYS,
    values: [prefixes],
  });
  const found: KeyStanding[][] = prefixes.map(() => []);
  for (const { n, role, policyVersion, ...key } of rows)
    found[n - 1]?.push({ ...key, membership: membershipOf({ role, policyVersion }) });
  return found;
}

/** Keys were used just now. */
export async function noteKeyUse(pool: Pool, keyIDs: readonly string[]): Promise<void> {
  await pool.query(note('api_key', 'last_used_at'), [keyIDs]);
}

/** People were here just now. */
export async function noteSeen(pool: Pool, userIDs: readonly string[]): Promise<void> {
  await pool.query(note('app_user', 'last_seen'), [userIDs]);
}

/** A row that somebody else is writing is left out: the next request notes it again, and nobody waits in a circle. */
const note = (table: string, column: string) => `
update ${table} set ${column} = now()
where id in (select id from ${table} where id = any($1::uuid[]) for no key update skip locked)`;

/** The version of the tenant's rules, when whoever began something there may still act in it; null when they may not. */
export async function readActingVersion(pool: Pool, tenantID: string, caller: Caller): Promise<number | null> {
  const keyID = caller.type === 'apiKey' ? caller.id : null;
  const { rows } = await pool.query<{ version: number }>(ACTING, [tenantID, caller.userID ?? caller.id, keyID]);
  return rows[0]?.version ?? null;
}

interface MembershipRow {
  role: Membership['role'] | null;
  policyVersion: number | null;
}

type StandingRow = MembershipRow &
  (
    | { userID: string; email: string | null; isEmailVerified: boolean; isDisabled: boolean; isSeenNoted: boolean }
    | { userID: null; email: null; isEmailVerified: null; isDisabled: null; isSeenNoted: boolean }
  );

function membershipOf({ role, policyVersion }: MembershipRow): Membership | null {
  return role === null || policyVersion === null ? null : { role, policyVersion };
}

const STANDINGS = `
select u.id as "userID", u.email, u.is_disabled as "isDisabled",
  coalesce(u.last_seen > now() - interval '1 minute', false) as "isSeenNoted",
  case when u.id is not null then u.email_verified_at is not null end as "isEmailVerified", m.role, t.policy_version as "policyVersion"
from unnest($1::text[], $2::text[], $3::uuid[]) with ordinality as q(issuer, subject, tenant_id, n)
left join app_user u on u.issuer = q.issuer and u.subject = q.subject
left join membership m on m.user_id = u.id and m.tenant_id = q.tenant_id
left join tenant t on t.id = m.tenant_id and t.deleting_at is null
order by q.n`;

const MEMBERSHIPS = `
select m.role, t.policy_version as "policyVersion"
from unnest($1::uuid[], $2::uuid[]) with ordinality as q(user_id, tenant_id, n)
left join app_user u on u.id = q.user_id and not u.is_disabled
left join membership m on m.user_id = u.id and m.tenant_id = q.tenant_id
left join tenant t on t.id = m.tenant_id and t.deleting_at is null
order by q.n`;

const KEYS = `
select q.n, k.id as "keyID", k.tenant_id as "tenantID", k.hash, coalesce(k.expires_at <= now(), false) as "isExpired",
       coalesce(k.last_used_at > now() - interval '1 minute', false) as "isUseNoted",
       k.creator_id as "userID", u.email, u.is_disabled as "isBlocked", m.role, t.policy_version as "policyVersion"
from unnest($1::text[]) with ordinality as q(prefix, n)
join api_key k on k.prefix = q.prefix and not k.is_disabled
join app_user u on u.id = k.creator_id
left join membership m on m.user_id = u.id and m.tenant_id = k.tenant_id and not u.is_disabled
left join tenant t on t.id = m.tenant_id and t.deleting_at is null`;

const ACTING = `
select t.policy_version as version
from tenant t join membership m on m.tenant_id = t.id join app_user u on u.id = m.user_id and not u.is_disabled
where t.id = $1 and t.deleting_at is null and u.id = $2
  and ($3::uuid is null or exists (
    select from api_key k where k.id = $3 and k.tenant_id = t.id and k.creator_id = u.id and not k.is_disabled
      and coalesce(k.expires_at > now(), true)))`;
