/**
 * Accounts of the built-in sign-in (AUTH=builtin), for the operator of a deployment:
 *   npm run accounts -- list | invite <email> | reset <email> | remove-second-factor <email> | disable <email> | enable <email>
 * `invite` and `reset` print a link, which its owner opens in a browser to choose a password. Without DATABASE_URL it works on
 * the embedded Gantry of this folder, while that runs.
 */
import { parseArgs } from 'node:util';
import { z } from 'zod';
import { ensureAccount, findByEmail, setDisabled } from '#api/sign-in/accounts.ts';
import { recordAction, type SignInAction } from '#api/sign-in/audit.ts';
import { linkHours, linkURL, makeLink } from '#api/sign-in/links.ts';
import { removeSecondFactors } from '#api/sign-in/second-factor.ts';
import { createLogger } from '#shared/core/logger.ts';
import { createPool, type Pool } from '#shared/db/pool.ts';
import { requireSchema } from '#shared/entities/schema.ts';
import { readConfig } from '#shared/process/config.ts';
import { describeFailure } from '#shared/process/start-failure.ts';
import { commandEnvironment } from './embedded/command-environment.ts';

const usage =
  'usage: npm run accounts -- list | invite <email> | reset <email> | remove-second-factor <email> | disable <email> | enable <email>';

interface Order {
  pool: Pool;
  email: string;
  issuer: string;
}

const commands: Record<string, (order: Order) => Promise<void>> = {
  invite,
  reset,
  'remove-second-factor': (order) =>
    change(order, 'TOTP_REMOVED', (accountID) => removeSecondFactors(order.pool, accountID)),
  disable: (order) => change(order, 'DISABLED', (accountID) => setDisabled(order.pool, accountID, true)),
  enable: (order) => change(order, 'ENABLED', (accountID) => setDisabled(order.pool, accountID, false)),
};

try {
  await main();
} catch (error) {
  console.error(describeFailure(error));
  process.exitCode = 1;
}

async function main(): Promise<void> {
  const { positionals } = parseArgs({ options: {}, allowPositionals: true });
  const [name = '', typed, ...rest] = positionals;
  const command = commands[name];
  const isList = name === 'list' && typed === undefined;
  if (!isList && (!command || typed === undefined || rest.length > 0)) throw new Error(usage);
  const config = readConfig(await commandEnvironment());
  if (!config.auth.isBuiltIn) throw new Error('Configuration: AUTH=builtin is not set, so users have no accounts here');
  const logger = createLogger({ level: config.log.level }, { process: 'accounts' });
  await using resources = new AsyncDisposableStack();
  const pool = createPool(config.db, logger, { max: 1, name: 'gantry.accounts' });
  resources.defer(() => pool.end());
  await requireSchema(pool, logger);
  if (isList) return await list(pool);
  const email = z.email().max(320).safeParse(typed?.toLowerCase());
  if (!email.success) throw new Error(`"${typed}" is no e-mail address`);
  await command?.({ pool, email: email.data, issuer: config.auth.issuer ?? '' });
}

async function invite({ pool, email, issuer }: Order): Promise<void> {
  const account = await findByEmail(pool, email, '');
  if (account?.passwordHash)
    throw new Error(`${email} has an account already; "reset" makes a link for a new password`);
  const accountID = await ensureAccount(pool, email);
  const token = await makeLink(pool, { accountID, purpose: 'INVITATION' });
  await recordAction(pool, 'INVITED', { accountID, origin: null });
  showLink(`Invitation of ${email}`, linkURL(issuer, token), linkHours.INVITATION);
}

async function reset({ pool, email, issuer }: Order): Promise<void> {
  const { accountID } = await find(pool, email);
  const token = await makeLink(pool, { accountID, purpose: 'RESET' });
  await recordAction(pool, 'RESET_ASKED', { accountID, origin: null });
  showLink(`New password of ${email}`, linkURL(issuer, token), linkHours.RESET);
}

async function change(
  { pool, email }: Order,
  action: SignInAction,
  work: (accountID: string) => Promise<void>,
): Promise<void> {
  const { accountID } = await find(pool, email);
  await work(accountID);
  await recordAction(pool, action, { accountID, origin: null });
  console.log(`${email}: ${action.toLowerCase().replaceAll('_', ' ')}.`);
}

async function find(pool: Pool, email: string) {
  const account = await findByEmail(pool, email, '');
  if (!account) throw new Error(`${email} has no account`);
  return account;
}

async function list(pool: Pool): Promise<void> {
  const { rows } = await pool.query<{ email: string; state: string }>(
    `select email, case when is_disabled then 'disabled' when password_hash is null then 'invited'
       when totp_step is not null or exists (select from sign_in_passkey where account_id = a.id) then 'active, second factor'
       else 'active' end as state
     from sign_in_account a order by email`,
  );
  for (const { email, state } of rows) console.log(`${email}  ${state}`);
}

function showLink(what: string, url: string, hours: number): void {
  console.log(`${what}, good for ${hours === 1 ? 'an hour' : `${hours} hours`} and one use:\n\n  ${url}\n`);
}
