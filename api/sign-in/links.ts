import { hash, randomBytes } from 'node:crypto';
import type { Pool, PoolClient } from '#shared/db/pool.ts';

/** `FIRST`: the first account of a deployment, whose owner says their address themselves. */
export type LinkPurpose = 'FIRST' | 'INVITATION' | 'RESET';

export interface Link {
  accountID: string | null;
  email: string | null;
  purpose: LinkPurpose;
}

export const linkHours: Readonly<Record<LinkPurpose, number>> = { FIRST: 24, INVITATION: 72, RESET: 1 };

/** Makes a link and answers with its token, of which only the hash is stored. A new link ends the one before. */
export async function makeLink(
  pool: Pool,
  { accountID, purpose }: { accountID: string | null; purpose: LinkPurpose },
): Promise<string> {
  const token = randomBytes(32).toString('base64url');
  await pool.query(MAKE, [hashOf(token), accountID, purpose, linkHours[purpose]]);
  return token;
}

export function linkURL(issuer: string, token: string): string {
  return `${issuer}/link/${token}`;
}

/** The link of a token; undefined if it was used, replaced or is too old. */
export async function findLink(db: Pool | PoolClient, token: string): Promise<Link | undefined> {
  const { rows } = await db.query<Link>(FIND, [hashOf(token)]);
  return rows[0];
}

/** Ends a link, in the transaction that does what it is for. Of two uses at once, the second one gets undefined. */
export async function takeLink(client: PoolClient, token: string): Promise<Link | undefined> {
  const link = await findLink(client, token);
  const { rowCount } = await client.query('delete from sign_in_link where token_hash = $1', [hashOf(token)]);
  return rowCount === 1 ? link : undefined;
}

function hashOf(token: string): Buffer {
  return hash('sha256', token, 'buffer');
}

/** The first link of a deployment that has no accounts yet; undefined once there is one. */
export async function firstInvitation(pool: Pool, issuer: string): Promise<string | undefined> {
  const { rows } = await pool.query<{ hasAccounts: boolean }>(`select ${HAS_ACCOUNTS} as "hasAccounts"`);
  if (rows[0]?.hasAccounts) return undefined;
  return linkURL(issuer, await makeLink(pool, { accountID: null, purpose: 'FIRST' }));
}

const HAS_ACCOUNTS = 'exists (select from sign_in_account where password_hash is not null)';

const MAKE = `
with replaced as (
  delete from sign_in_link where account_id is not distinct from $2 and purpose = $3
)
insert into sign_in_link (token_hash, account_id, purpose, expires_at)
values ($1, $2, $3, now() + make_interval(hours => $4))`;

const FIND = `
select l.account_id as "accountID", a.email, l.purpose
from sign_in_link l left join sign_in_account a on a.id = l.account_id
where l.token_hash = $1 and l.expires_at > now() and a.is_disabled is not true
  and (l.purpose <> 'FIRST' or not ${HAS_ACCOUNTS})`;
