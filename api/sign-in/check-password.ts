import { type Account, findByEmail, saveRehashed } from './accounts.ts';
import { type Origin, recordAction } from './audit.ts';
import type { Needs } from './needs.ts';

/**
 * The account of an address and a password, or undefined: an unknown address, a wrong password, an invitation that is not accepted
 * and a disabled account look alike and take as long. Attempts are counted before the password is checked.
 */
export async function checkPassword(
  { pool, passwords, throttle: { passwords: throttle } }: Needs,
  { email: typed, password }: { email: string; password: string },
  origin: Origin,
): Promise<Account | undefined> {
  const email = normalEmail(typed);
  const { network } = origin;
  await throttle.limitNetwork(network);
  const account = await findByEmail(pool, email, network);
  await throttle.limitAccount({ email, network, isKnownHere: account?.isKnownHere ?? false });
  const { isRight, isOutdated } = await passwords.verify(password, account?.passwordHash ?? undefined);
  if (!account || !isRight || account.isDisabled) {
    await recordAction(pool, 'PASSWORD_WRONG', { accountID: account?.accountID ?? null, origin });
    return undefined;
  }
  if (isOutdated) await saveRehashed(pool, account, await passwords.hash(password));
  return account;
}

/** Letters outside ASCII are kept: in lower case, some would equal the letters of another address. */
export function normalEmail(email: string): string {
  return email.trim().replace(/[A-Z]+/g, (letters) => letters.toLowerCase());
}
