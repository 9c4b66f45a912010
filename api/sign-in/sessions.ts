import type { Pool } from '#shared/db/pool.ts';

/** A browser in which an account is signed in. */
export interface ShownSession {
  /** Names the session, and opens nothing. */
  uid: string;
  ipAddress: string | null;
  userAgent: string | null;
  createdAt: Date;
  isOwn: boolean;
}

export async function listSessions(pool: Pool, accountID: string, ownUID: string): Promise<ShownSession[]> {
  const { rows } = await pool.query<ShownSession>(
    `select uid, ip_address as "ipAddress", user_agent as "userAgent", created_at as "createdAt", uid = $2 as "isOwn"
     from sign_in_record where account_id = $1 and kind = 'Session' and expires_at > now()
     order by uid = $2 desc, created_at desc limit 100`,
    [accountID, ownUID],
  );
  return rows;
}

/** Ends a session and its tokens. */
export async function endSession(pool: Pool, accountID: string, uid: string): Promise<void> {
  await pool.query('delete from sign_in_record where account_id = $1 and coalesce(session_uid, uid) = $2', [
    accountID,
    uid,
  ]);
}

/** Ends every session of the account but one, and the sign-ins under way. */
export async function endOtherSessions(pool: Pool, accountID: string, uid: string): Promise<void> {
  await pool.query(
    `delete from sign_in_record where account_id = $1 and coalesce(session_uid, uid) is distinct from $2
     and kind <> 'Grant' and resource is null`,
    [accountID, uid],
  );
}
