import type { Request, Response } from 'express';
import type Provider from 'oidc-provider';
import { errors } from 'oidc-provider';
import { AppError } from '#shared/core/errors.ts';
import { type Account, findAccount } from './accounts.ts';
import { postgresAdapter } from './adapter.ts';
import { originOf, recordAction } from './audit.ts';
import { checkPassword } from './check-password.ts';
import { consentSteps, sourceOf } from './consent.ts';
import { fieldOf, readJSON, sendPage } from './exchange.ts';
import { expiredPage, passwordPage, secondFactorPage } from './interaction-pages.ts';
import { guessedMail } from './mail.ts';
import type { Needs } from './needs.ts';
import { askForPasskey, checkPasskey, hasPasskeys } from './passkeys.ts';
import { countCode, MAX_WRONG_CODES, useRecoveryCode, useTOTP } from './second-factor.ts';

type Interaction = Awaited<ReturnType<Provider['interactionDetails']>>;

/** A sign-in that has begun: the account whose password was right, and the challenge for a passkey. */
interface Attempt {
  accountId?: string;
  /** Seconds since 1970. */
  passwordAt?: number;
  challenge?: string;
}

type Step = (request: Request, response: Response) => Promise<void>;

/** The steps of a sign-in, between the client's request and its answer. The cookie of the browser names the sign-in. */
export function interactionSteps(
  needs: Needs,
): Record<'show' | 'password' | 'code' | 'passkeyOptions' | 'passkey' | 'consent' | 'again', Step> {
  const { pool, publicURL, issuer, throttle, secrets } = needs;
  const withPasskeys = hasPasskeys(publicURL);
  const attempts = postgresAdapter(pool)('Attempt');
  const consent = consentSteps(needs);

  const read = async (uid: string): Promise<Attempt> => ((await attempts.find(uid)) as Attempt | undefined) ?? {};
  const write = (uid: string, attempt: Attempt) => attempts.upsert(uid, { ...attempt }, 1_800);

  /** Calls back with the sign-in that the cookie names, which must be that of the address. */
  const ofInteraction =
    (step: (exchange: { interaction: Interaction; request: Request; response: Response }) => Promise<void>): Step =>
    async (request, response) => {
      const interaction = await needs
        .provider()
        .interactionDetails(request, response)
        .catch((error: unknown) => {
          if (error instanceof errors.SessionNotFound) return undefined;
          throw error;
        });
      if (!interaction || interaction.uid !== request.params.uid)
        return sendPage(response, 400, expiredPage(publicURL));
      await step({ interaction, request, response });
    };

  function shownOf({ uid, params }: Interaction, problem?: string) {
    const { redirect_uri: uri } = params;
    const leadsTo = typeof uri === 'string' && URL.canParse(uri) ? [sourceOf(uri)] : [];
    return { action: `${issuer}/interaction/${uid}`, issuer, leadsTo, problem };
  }

  function showPassword(
    response: Response,
    interaction: Interaction,
    { status = 200, email, problem }: Again = {},
  ): void {
    const hint = interaction.params.login_hint;
    const known = email ?? (typeof hint === 'string' ? hint.slice(0, 320) : '');
    const form = { email: known, withPasskeys, sendsMail: needs.mailer !== null };
    sendPage(response, status, passwordPage(shownOf(interaction, problem), form));
  }

  async function showSecond(
    response: Response,
    interaction: Interaction,
    account: Account,
    { status = 200, problem }: Again = {},
  ) {
    const form = { hasCode: account.totpStep !== null, withPasskeys: withPasskeys && account.hasPasskeys };
    sendPage(response, status, secondFactorPage(shownOf(interaction, problem), form));
  }

  /** Undefined once the password was changed, or the account disabled, since the password was given. */
  async function accountOf({ accountId, passwordAt = 0 }: Attempt): Promise<Account | undefined> {
    const account = accountId === undefined ? undefined : await findAccount(pool, accountId);
    return account && !account.isDisabled && passwordAt >= account.validAfter ? account : undefined;
  }

  async function finish(request: Request, response: Response, { account, amr, at }: Finish): Promise<void> {
    const { accountID, email } = account;
    const origin = originOf(request);
    await throttle.passwords.forgive({ email, network: origin.network });
    await recordAction(pool, 'SIGNED_IN', { accountID, origin });
    await attempts.destroy(String(request.params.uid));
    const login = { accountId: accountID, ts: at, amr, remember: false };
    await needs.provider().interactionFinished(request, response, { login }, { mergeWithLastSubmission: false });
  }

  /** `stopped`: after too many wrong ones, of which this may be the last. */
  async function checkCodeOfApp(account: Account, code: string): Promise<'right' | 'wrong' | 'stopped'> {
    if (!/^\d{6}$/.test(code) || account.totpStep === null) return 'wrong';
    const count = await countCode(pool, account.accountID);
    if (count === undefined) return 'stopped';
    if (await useTOTP(pool, { account, code, secrets })) return 'right';
    if (count < MAX_WRONG_CODES) return 'wrong';
    tellOwner(account);
    return 'stopped';
  }

  function tellOwner({ email }: Account): void {
    needs.mailer
      ?.send({ to: email, ...guessedMail() })
      .catch((error: unknown) => needs.logger.error({ err: error }, 'a mail of the sign-in was not sent'));
  }

  return {
    show: ofInteraction(async ({ interaction, response, request }) => {
      if (interaction.prompt.name === 'consent') {
        if (interaction.params.client_id !== needs.clientID)
          return await consent.show({ interaction, request, response });
        // The client is this service: a user who signs in agrees.
        return await needs.provider().interactionFinished(request, response, { consent: {} });
      }
      const account = await accountOf(await read(interaction.uid));
      if (account) await showSecond(response, interaction, account);
      else showPassword(response, interaction);
    }),

    password: ofInteraction(async ({ interaction, request, response }) => {
      const [email, password] = [fieldOf(request, 'email', 320), fieldOf(request, 'password', 1024)];
      const at = now();
      const account = await checkPassword(needs, { email, password }, originOf(request)).catch(tooMany);
      if (typeof account === 'string' || account === undefined) {
        const problem = account ?? 'The e-mail address or the password is wrong';
        return showPassword(response, interaction, { status: account === undefined ? 401 : 429, email, problem });
      }
      // Read with the hash: a change of the password since then makes this sign-in too old.
      const passwordAt = Math.max(at, account.validAfter);
      if (account.totpStep === null && !account.hasPasskeys)
        return await finish(request, response, { account, amr: ['pwd'], at: passwordAt });
      await write(interaction.uid, { accountId: account.accountID, passwordAt });
      response.redirect(303, `${issuer}/interaction/${interaction.uid}`);
    }),

    code: ofInteraction(async ({ interaction, request, response }) => {
      const attempt = await read(interaction.uid);
      const account = await accountOf(attempt);
      if (!account) return showPassword(response, interaction, { status: 400, problem: 'Give your password again' });
      const code = fieldOf(request, 'code', 40).replace(/[\s-]+/g, '');
      const { accountID } = account;
      const refused = await throttle.limitCode(accountID).catch(tooMany);
      if (typeof refused === 'string')
        return await showSecond(response, interaction, account, { status: 429, problem: refused });
      const at = attempt.passwordAt ?? 0;
      const ofApp = await checkCodeOfApp(account, code);
      if (ofApp === 'right') return await finish(request, response, { account, amr: ['pwd', 'otp'], at });
      const origin = originOf(request);
      if (/^[0-9a-f]{20}$/i.test(code) && (await useRecoveryCode(pool, accountID, code))) {
        await recordAction(pool, 'RECOVERY_CODE_USED', { accountID, origin });
        return await finish(request, response, { account, amr: ['pwd', 'otp'], at });
      }
      await recordAction(pool, 'SECOND_FACTOR_WRONG', { accountID, origin });
      await showSecond(response, interaction, account, {
        status: 401,
        problem: ofApp === 'stopped' ? CODES_ARE_STOPPED : 'This code is wrong, or was used already',
      });
    }),

    passkeyOptions: ofInteraction(async ({ interaction, response }) => {
      const attempt = await read(interaction.uid);
      const options = await askForPasskey(pool, { publicURL, accountID: (await accountOf(attempt))?.accountID });
      await write(interaction.uid, { ...attempt, challenge: options.challenge });
      response.set('cache-control', 'no-store').json(options);
    }),

    passkey: ofInteraction(async ({ interaction, request, response }) => {
      const { challenge, ...attempt } = await read(interaction.uid);
      const at = now();
      const refused = await throttle.limitPasskey(originOf(request).network).catch(tooMany);
      const known = await accountOf(attempt);
      const again = async (status: number, problem: string) => {
        if (known) await showSecond(response, interaction, known, { status, problem });
        else showPassword(response, interaction, { status, problem });
      };
      if (typeof refused === 'string') return await again(429, refused);
      // A challenge is answered once.
      await write(interaction.uid, attempt);
      const signed = readJSON(fieldOf(request, 'response', 16_384));
      const accountID =
        challenge === undefined || signed === undefined
          ? undefined
          : await checkPasskey(pool, { response: signed as never, challenge, publicURL });
      const account = accountID === undefined ? undefined : await findAccount(pool, accountID);
      if (account && !account.isDisabled && (!known || known.accountID === account.accountID))
        return await finish(request, response, {
          account,
          amr: ['hwk', 'user', 'mfa'],
          at: Math.max(at, account.validAfter),
        });
      const origin = originOf(request);
      await recordAction(pool, 'SECOND_FACTOR_WRONG', { accountID: known?.accountID ?? null, origin });
      await again(401, 'This passkey belongs to no account here');
    }),

    consent: ofInteraction(consent.decide),

    again: ofInteraction(async ({ interaction, response }) => {
      await attempts.destroy(interaction.uid);
      response.redirect(303, `${issuer}/interaction/${interaction.uid}`);
    }),
  };
}

const CODES_ARE_STOPPED =
  'Too many codes were wrong, so codes of the app open nothing until you choose a new password. A recovery code or a passkey does';

interface Again {
  status?: number;
  email?: string;
  problem?: string;
}

interface Finish {
  account: Account;
  amr: string[];
  /** Seconds since 1970. */
  at: number;
}

/** The sentence for a person who has tried too often. */
export function tooMany(error: unknown): string {
  if (!(error instanceof AppError) || error.code !== 'RATE_LIMITED') throw error;
  return `${error.message}. Try again in ${Math.ceil((error.retryAfter ?? 60) / 60)} minutes`;
}

function now(): number {
  return Math.floor(Date.now() / 1_000);
}
