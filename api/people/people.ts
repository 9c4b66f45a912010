import type { Person } from '#shared/access/account-status.ts';
import { lockRules } from '#shared/access/policy/change.ts';
import { inTransaction, type Pool } from '#shared/db/pool.ts';
import { onClient, type Query } from '#shared/db/query.ts';
import { addMember } from './members.ts';

/** How many invitations one request accepts; the next request goes on. */
const maxAtOnce = 50;

/**
 * Stores a user who signs in for the first time, and the user's present e-mail address. A verified address makes the user a member
 * of every tenant that has invited it, and is stored as verified once no invitation is left.
 */
export async function savePerson(pool: Pool, id: string, person: Person): Promise<void> {
  const { issuer, subject, email, isEmailVerified, firstName, lastName } = person;
  const { rows } = await pool.query<{ id: string }>(SAVE, [id, issuer, subject, email, firstName, lastName]);
  const userID = rows[0]?.id;
  if (!userID || email === null || !isEmailVerified) return;
  await inTransaction(pool, async (client) => {
    const query = onClient(client);
    await lockAddress(query, normalAddress(email));
    if (!(await isUnverified(query, userID, email))) return;
    const isDone = await acceptInvitations(query, userID, normalAddress(email));
    if (isDone) await query('update app_user set email_verified_at = now() where id = $1', [userID]);
  });
}

/**
 * An address in the form in which invitations store it. Letters outside ASCII are kept: in lower case, some would equal
 * the letters of another address.
 */
export function normalAddress(email: string): string {
  return email.replace(/[A-Z]+/g, (letters) => letters.toLowerCase());
}

/**
 * Locks an address until the transaction ends, so that an invitation and a first sign-in with it do not miss one another: the later
 * one sees what the earlier did. Taken before a tenant's rules are locked.
 */
export async function lockAddress(query: Query, address: string): Promise<void> {
  await query('select pg_advisory_xact_lock(hashtextextended($1, 0))', [`address ${address}`]);
}

/** Finds the user of an address: of several accounts the one that verified it last. */
export async function findByAddress(query: Query, address: string): Promise<string | null> {
  const { rows } = await query<{ id: string }>(
    `select id from app_user where lower(email collate "C") = $1 and email_verified_at is not null
     order by email_verified_at desc, id desc limit 1`,
    [address],
  );
  return rows[0]?.id ?? null;
}

/**
 * Whether the user still has this address, not yet verified: another request may have been first, or have changed the
 * address.
 */
async function isUnverified(query: Query, userID: string, email: string): Promise<boolean> {
  const { rowCount } = await query(
    'select from app_user where id = $1 and email = $2 and email_verified_at is null and not is_disabled for no key update',
    [userID, email],
  );
  return rowCount === 1;
}

/** Locks tenants in the order of their ids, like all other code. Returns whether no invitation is left. */
async function acceptInvitations(query: Query, userID: string, address: string): Promise<boolean> {
  const { rows: found } = await query<{ tenantID: string }>(INVITED, [address, maxAtOnce]);
  for (const { tenantID } of found) {
    await lockRules(query, tenantID);
    const { rows } = await query<{ roleIDs: string[]; folderID: string | null }>(
      'delete from invitation where tenant_id = $1 and email = $2 returning role_ids as "roleIDs", folder_id as "folderID"',
      [tenantID, address],
    );
    for (const invited of rows) await addMember(query, { tenantID, userID, ...invited });
  }
  return found.length < maxAtOnce;
}

const SAVE = `
insert into app_user (id, issuer, subject, email, first_name, last_name) values ($1, $2, $3, $4, $5, $6)
on conflict (issuer, subject) do update set
  email = coalesce(excluded.email, app_user.email),
  email_verified_at = case when coalesce(excluded.email, app_user.email) = app_user.email then app_user.email_verified_at end,
  updated_at = now()
returning id`;

const INVITED = `
select i.tenant_id as "tenantID" from invitation i join tenant t on t.id = i.tenant_id and t.deleting_at is null
where i.email = $1 order by i.tenant_id limit $2`;
