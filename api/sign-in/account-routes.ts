import type { Request, Response } from 'express';
import { inTransaction, type PoolClient } from '#shared/db/pool.ts';
import { accountPage, newPasskeyPage, recoveryCodesPage, type ShownAccount, totpPage } from './account-pages.ts';
import { type Account, setPassword } from './accounts.ts';
import { disconnectApp, listApps } from './apps.ts';
import { originOf, recordAction, type SignInAction } from './audit.ts';
import { createBrowserSessions, type SignedIn } from './browser-session.ts';
import { checkPassword } from './check-password.ts';
import { fieldOf, readJSON, sendPage } from './exchange.ts';
import { tooMany } from './interaction.ts';
import { changedMail } from './mail.ts';
import type { Needs } from './needs.ts';
import { hasPasskeys, listPasskeys, offerPasskey, savePasskey } from './passkeys.ts';
import { passwordProblem } from './password-rules.ts';
import { accountURI } from './provider.ts';
import {
  countRecoveryCodes,
  dropUnneededCodes,
  makeRecoveryCodes,
  newTOTPSecret,
  removeTOTP,
  saveTOTP,
  stepOf,
  totpAddress,
} from './second-factor.ts';
import { endOtherSessions, endSession, listSessions } from './sessions.ts';

interface Exchange extends SignedIn {
  request: Request;
  response: Response;
}

type Handler = (request: Request, response: Response) => Promise<void>;

/** How long a secret that is shown may wait for its confirmation. */
const SETUP_MS = 15 * 60_000;

/** The page on which users care for their own account. What opens the account asks for the password once more. */
export function accountRoutes(needs: Needs) {
  const { pool, secrets, publicURL, passwords, mailer, logger } = needs;
  const url = accountURI(publicURL);
  const browsers = createBrowserSessions(needs);

  const signedIn =
    (handle: (exchange: Exchange) => Promise<void>): Handler =>
    async (request, response) => {
      const found = await browsers.find(request, response);
      if (found) await handle({ ...found, request, response });
      else browsers.askToSignIn(request, response);
    };

  /** With the right password only. */
  const confirmed = (handle: (exchange: Exchange) => Promise<void>): Handler =>
    signedIn(async (exchange) => {
      const { account, request } = exchange;
      const password = fieldOf(request, 'current', 1024);
      const checked = await checkPassword(needs, { email: account.email, password }, originOf(request)).catch(tooMany);
      if (typeof checked === 'string') return await show(exchange, { status: 429, problem: checked });
      if (!checked) return await show(exchange, { status: 401, problem: 'The password is wrong' });
      await handle(exchange);
    });

  async function show(
    { account, uid, response }: Exchange,
    { status = 200, problem, done }: Outcome = {},
  ): Promise<void> {
    const { accountID, email, totpStep } = account;
    const shown: ShownAccount = {
      email,
      hasTOTP: totpStep !== null,
      recoveryCodes: await countRecoveryCodes(pool, accountID),
      passkeys: await listPasskeys(pool, accountID),
      mayHavePasskeys: hasPasskeys(publicURL),
      sessions: await listSessions(pool, accountID, uid),
      apps: await listApps(pool, accountID),
      publicURL,
      url,
      problem,
      done,
    };
    sendPage(response, status, accountPage(shown));
  }

  const record = ({ account, request }: Exchange, action: SignInAction) =>
    recordAction(pool, action, { accountID: account.accountID, origin: originOf(request) });

  /** Saves a second factor; the first one comes with recovery codes. Undefined if it was not saved. */
  async function addFactor(
    account: Account,
    save: (client: PoolClient) => Promise<boolean>,
  ): Promise<string[] | undefined> {
    return await inTransaction(pool, async (client) => {
      if (!(await save(client))) return undefined;
      const isFirst = account.totpStep === null && !account.hasPasskeys;
      return isFirst ? await makeRecoveryCodes(client, account.accountID) : [];
    });
  }

  async function showAdded(exchange: Exchange, codes: readonly string[], done: string): Promise<void> {
    if (codes.length > 0) return sendPage(exchange.response, 200, recoveryCodesPage(url, codes, done));
    exchange.response.redirect(303, url);
  }

  const setups = (kind: string, { accountID }: Account) => `sign_in_setup:${kind}:${accountID}`;
  const sealSetup = (kind: string, account: Account, value: string) =>
    secrets.seal(JSON.stringify({ value, until: Date.now() + SETUP_MS }), setups(kind, account));
  function openSetup(kind: string, { account, request }: Exchange): string | undefined {
    const text = secrets.tryOpen(fieldOf(request, 'sealed', 2_000), setups(kind, account));
    const { value, until } = JSON.parse(text ?? '{}') as { value?: string; until?: number };
    return until !== undefined && until > Date.now() ? value : undefined;
  }

  const tooLate = { status: 400, problem: 'This took too long. Begin again' };

  return {
    show: signedIn(async (exchange) => {
      // The address with which a sign-in comes back is no address to keep.
      if (Object.keys(exchange.request.query).length > 0) exchange.response.redirect(303, url);
      else await show(exchange);
    }),

    password: confirmed(async (exchange) => {
      const { account, uid, request } = exchange;
      const { accountID, email } = account;
      const password = fieldOf(request, 'password', 1024);
      const problem = passwordProblem(password, { email });
      if (problem) return await show(exchange, { status: 400, problem });
      const passwordHash = await passwords.hash(password);
      await inTransaction(pool, (client) => setPassword(client, { accountID, passwordHash, except: uid }));
      await record(exchange, 'PASSWORD_CHANGED');
      mailer
        ?.send({ to: email, ...changedMail() })
        .catch((error: unknown) => logger.error({ err: error }, 'a mail of the sign-in was not sent'));
      await show(exchange, { done: 'The password is changed, and your other sign-ins have ended' });
    }),

    totp: confirmed(async ({ account, response }) => {
      const secret = newTOTPSecret();
      const sealed = sealSetup('totp', account, secret);
      sendPage(response, 200, totpPage({ url, address: totpAddress(account.email, secret), secret, sealed }));
    }),

    confirmTOTP: signedIn(async (exchange) => {
      const { account, request, response } = exchange;
      const secret = openSetup('totp', exchange);
      if (secret === undefined) return await show(exchange, tooLate);
      const step = stepOf(secret, fieldOf(request, 'code', 10).replace(/\s+/g, ''));
      if (step === undefined) {
        const sealed = fieldOf(request, 'sealed', 2_000);
        const problem = 'This code is wrong. Is the clock of the device right?';
        const address = totpAddress(account.email, secret);
        return sendPage(response, 400, totpPage({ url, address, secret, sealed, problem }));
      }
      const { accountID } = account;
      const codes = await addFactor(account, async (client) => {
        await saveTOTP(client, { accountID, secret, step, secrets });
        return true;
      });
      await record(exchange, 'TOTP_ADDED');
      await showAdded(exchange, codes ?? [], 'Codes of your app are on');
    }),

    removeTOTP: confirmed(async (exchange) => {
      await inTransaction(pool, (client) => removeTOTP(client, exchange.account.accountID));
      await record(exchange, 'TOTP_REMOVED');
      exchange.response.redirect(303, url);
    }),

    newPasskey: confirmed(async (exchange) => {
      const { account, request, response } = exchange;
      const name = fieldOf(request, 'name', 60).trim().slice(0, 60) || 'A passkey';
      const options = await offerPasskey(pool, { publicURL, accountID: account.accountID, email: account.email });
      const sealed = sealSetup('passkey', account, options.challenge);
      sendPage(response, 200, newPasskeyPage({ url, name, sealed, options }));
    }),

    savePasskey: signedIn(async (exchange) => {
      const { account, request } = exchange;
      const challenge = openSetup('passkey', exchange);
      if (challenge === undefined) return await show(exchange, tooLate);
      const signed = readJSON(fieldOf(request, 'response', 32_768)) as never;
      const name = fieldOf(request, 'name', 60).slice(0, 60);
      const passkey = { accountID: account.accountID, name, response: signed, challenge, publicURL };
      const codes = signed && (await addFactor(account, (client) => savePasskey(client, passkey)));
      if (!codes) return await show(exchange, { status: 400, problem: 'The passkey was not saved' });
      await record(exchange, 'PASSKEY_ADDED');
      await showAdded(exchange, codes, 'The passkey is saved');
    }),

    removePasskey: confirmed(async (exchange) => {
      const { accountID } = exchange.account;
      const id = fieldOf(exchange.request, 'id', 36);
      await inTransaction(pool, async (client) => {
        await client.query('delete from sign_in_passkey where account_id = $1 and id::text = $2', [accountID, id]);
        await dropUnneededCodes(client, accountID);
      });
      await record(exchange, 'PASSKEY_REMOVED');
      exchange.response.redirect(303, url);
    }),

    recoveryCodes: confirmed(async (exchange) => {
      const { account, response } = exchange;
      if (account.totpStep === null && !account.hasPasskeys) return response.redirect(303, url);
      const codes = await inTransaction(pool, (client) => makeRecoveryCodes(client, account.accountID));
      await record(exchange, 'RECOVERY_CODES_MADE');
      sendPage(response, 200, recoveryCodesPage(url, codes, 'The codes before these have stopped to work'));
    }),

    endSession: signedIn(async (exchange) => {
      const { account, request, response, uid } = exchange;
      const ended = fieldOf(request, 'uid', 100);
      await endSession(pool, account.accountID, ended);
      await record(exchange, 'SESSION_ENDED');
      response.redirect(303, ended === uid ? `${publicURL}/console/` : url);
    }),

    endOtherSessions: signedIn(async (exchange) => {
      await endOtherSessions(pool, exchange.account.accountID, exchange.uid);
      await record(exchange, 'SESSION_ENDED');
      exchange.response.redirect(303, url);
    }),

    disconnectApp: signedIn(async (exchange) => {
      const { account, request, response } = exchange;
      if (await disconnectApp(pool, account.accountID, fieldOf(request, 'id', 64)))
        await record(exchange, 'APP_DISCONNECTED');
      response.redirect(303, url);
    }),

    /** The console asks for it: ends the session of this browser, if there is one. */
    async signOut(request: Request, response: Response): Promise<void> {
      const found = await browsers.find(request, response);
      if (found) {
        await endSession(pool, found.account.accountID, found.uid);
        await record({ ...found, request, response }, 'SIGNED_OUT');
      }
      response.status(204).end();
    },
  };
}

interface Outcome {
  status?: number;
  problem?: string;
  done?: string;
}
