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
  return rows.map(({ userID, email, isEmailVerified, isDisabled, ...row }) =>
    userID === null ? null : { userID, email, isEmailVerified, isDisabled, membership: membershipOf(row) },
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

interface MembershipRow {
  role: Membership['role'] | null;
  policyVersion: number | null;
}

type StandingRow = MembershipRow &
  (
    | { userID: string; email: string | null; isEmailVerified: boolean; isDisabled: boolean }
    | { userID: null; email: null; isEmailVerified: null; isDisabled: null }
  );

function membershipOf({ role, policyVersion }: MembershipRow): Membership | null {
  return role === null || policyVersion === null ? null : { role, policyVersion };
}

const STANDINGS = `
select u.id as "userID", u.email, u.is_disabled as "isDisabled",
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
