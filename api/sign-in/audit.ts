import type { Request } from 'express';
import { newID } from '#shared/core/ids.ts';
import type { Pool } from '#shared/db/pool.ts';
import { networkOf } from '../auth/network.ts';

export type SignInAction =
  | 'SIGNED_IN'
  | 'PASSWORD_WRONG'
  | 'SECOND_FACTOR_WRONG'
  | 'SIGNED_OUT'
  | 'SESSION_ENDED'
  | 'INVITED'
  | 'INVITATION_ACCEPTED'
  | 'RESET_ASKED'
  | 'PASSWORD_RESET'
  | 'PASSWORD_CHANGED'
  | 'TOTP_ADDED'
  | 'TOTP_REMOVED'
  | 'PASSKEY_ADDED'
  | 'PASSKEY_REMOVED'
  | 'RECOVERY_CODES_MADE'
  | 'RECOVERY_CODE_USED'
  | 'APP_CONNECTED'
  | 'APP_DISCONNECTED'
  | 'DISABLED'
  | 'ENABLED';

/** Where a request comes from, as it is recorded. The client chooses its name, so that is cut to a length. */
export interface Origin {
  ipAddress: string;
  network: string;
  userAgent: string | null;
}

export function originOf(request: Request): Origin {
  const ipAddress = request.ip ?? '';
  return { ipAddress, network: networkOf(ipAddress), userAgent: request.get('user-agent')?.slice(0, 500) ?? null };
}

/** `accountID` is null for an address without an account: the text in that field may be a password. `origin`: null for a command. */
export async function recordAction(
  pool: Pick<Pool, 'query'>,
  action: SignInAction,
  { accountID, origin }: { accountID: string | null; origin: Origin | null },
): Promise<void> {
  await pool.query(
    'insert into sign_in_audit (id, account_id, action, ip_address, network, user_agent) values ($1, $2, $3, $4, $5, $6)',
    [newID(), accountID, action, origin?.ipAddress ?? null, origin?.network ?? null, origin?.userAgent ?? null],
  );
}
