import type { Request, Response } from 'express';
import { z } from 'zod';
import { inTransaction } from '#shared/db/pool.ts';
import { ensureAccount, findByEmail, setPassword } from './accounts.ts';
import { type Origin, originOf, recordAction } from './audit.ts';
import { normalEmail } from './check-password.ts';
import { fieldOf, sendPage } from './exchange.ts';
import { tooMany } from './interaction.ts';
import {
  choosePasswordPage,
  forgotPage,
  noMailPage,
  passwordSetPage,
  sentPage,
  tooManyLinksPage,
  usedLinkPage,
} from './link-pages.ts';
import { findLink, type Link, linkHours, linkURL, makeLink, takeLink } from './links.ts';
import { changedMail, invitationMail, resetMail } from './mail.ts';
import type { Needs } from './needs.ts';
import { passwordProblem } from './password-rules.ts';

type Handler = (request: Request, response: Response) => Promise<void>;

/** Links of invitations and for new passwords. Opening one changes nothing: programs that look through mail open them too. */
export function linkRoutes(needs: Needs): Record<'show' | 'use' | 'showForgot' | 'forgot', Handler> {
  const { pool, publicURL, issuer, throttle, passwords, mailer, logger } = needs;

  /** The link of a request, if it can be used; otherwise answers. */
  async function readLink(request: Request, response: Response): Promise<{ link: Link; token: string } | undefined> {
    const refused = await throttle.limitLink(originOf(request).network).catch(tooMany);
    if (typeof refused === 'string') {
      sendPage(response, 429, tooManyLinksPage(refused));
      return undefined;
    }
    const token = String(request.params.token);
    const link = await findLink(pool, token);
    if (link) return { link, token };
    sendPage(response, 410, usedLinkPage(issuer, mailer !== null));
    return undefined;
  }

  return {
    async show(request, response) {
      const found = await readLink(request, response);
      if (found) sendPage(response, 200, choosePasswordPage({ ...shownOf(found.link) }));
    },

    async use(request, response) {
      const found = await readLink(request, response);
      if (!found) return;
      const { link, token } = found;
      const typed = fieldOf(request, 'email', 320);
      const password = fieldOf(request, 'password', 1024);
      const email = link.email ?? normalEmail(typed);
      const again = (problem: string) =>
        sendPage(response, 400, choosePasswordPage({ ...shownOf(link), typed, problem }));
      if (!Email.safeParse(email).success) return again('This is no e-mail address');
      const problem = passwordProblem(password, { email });
      if (problem) return again(problem);
      const passwordHash = await passwords.hash(password);
      const accountID = await inTransaction(pool, async (client) => {
        if (!(await takeLink(client, token))) return undefined;
        const id = link.accountID ?? (await ensureAccount(client, email));
        await setPassword(client, { accountID: id, passwordHash });
        return id;
      });
      if (accountID === undefined) return sendPage(response, 410, usedLinkPage(issuer, mailer !== null));
      const isReset = link.purpose === 'RESET';
      await recordAction(pool, isReset ? 'PASSWORD_RESET' : 'INVITATION_ACCEPTED', {
        accountID,
        origin: originOf(request),
      });
      if (isReset) later(send(email, changedMail()));
      sendPage(response, 200, passwordSetPage(publicURL));
    },

    async showForgot(_request, response) {
      sendPage(response, 200, mailer ? forgotPage() : noMailPage());
    },

    async forgot(request, response) {
      if (!mailer) return sendPage(response, 400, noMailPage());
      const origin = originOf(request);
      const refused = await throttle.limitLink(origin.network).catch(tooMany);
      if (typeof refused === 'string') return sendPage(response, 429, forgotPage(refused));
      const email = normalEmail(fieldOf(request, 'email', 320));
      if (!Email.safeParse(email).success) return sendPage(response, 400, forgotPage('This is no e-mail address'));
      // Not waited for: the answer takes as long for an address without an account.
      later(sendReset(email, origin));
      sendPage(response, 200, sentPage(publicURL));
    },
  };

  async function sendReset(email: string, origin: Origin): Promise<void> {
    const account = await findByEmail(pool, email, origin.network);
    if (!(await throttle.mayMail(email, origin.network)) || !account || account.isDisabled) return;
    const { accountID } = account;
    // Who has not accepted an invitation yet gets the invitation again.
    const purpose = account.passwordHash === null ? 'INVITATION' : 'RESET';
    const url = linkURL(issuer, await makeLink(pool, { accountID, purpose }));
    await recordAction(pool, 'RESET_ASKED', { accountID, origin });
    await send(email, purpose === 'RESET' ? resetMail(url) : invitationMail(url, linkHours.INVITATION));
  }

  async function send(to: string, mail: { subject: string; text: string }): Promise<void> {
    await mailer?.send({ to, ...mail });
  }

  /** If it fails, the user asks again; the log tells why. */
  function later(work: Promise<void>): void {
    work.catch((error: unknown) => logger.error({ err: error }, 'a mail of the sign-in was not sent'));
  }
}

function shownOf({ email, purpose }: Link) {
  return { email, isReset: purpose === 'RESET' };
}

const Email = z.email().max(320);
