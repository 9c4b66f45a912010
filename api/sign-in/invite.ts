import { ensureAccount, findByEmail } from './accounts.ts';
import { recordAction } from './audit.ts';
import { normalEmail } from './check-password.ts';
import { linkHours, linkURL, makeLink } from './links.ts';
import { invitationMail } from './mail.ts';
import type { Needs } from './needs.ts';

/** Sends an invitation to an address that has no password yet. */
export async function sendInvitation(
  { pool, throttle, mailer, issuer }: Needs,
  typed: string,
  countedFor: string,
): Promise<void> {
  const email = normalEmail(typed);
  if (!(await throttle.mayMail(email, countedFor))) return;
  const known = await findByEmail(pool, email, '');
  if (known && (known.passwordHash !== null || known.isDisabled)) return;
  const accountID = await ensureAccount(pool, email);
  const url = linkURL(issuer, await makeLink(pool, { accountID, purpose: 'INVITATION' }));
  await recordAction(pool, 'INVITED', { accountID, origin: null });
  await mailer?.send({ to: email, ...invitationMail(url, linkHours.INVITATION) });
}
