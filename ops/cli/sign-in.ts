import type { Command } from 'commander';
import { createGantry, type Gantry } from '../client/index.ts';
import type { Acting } from './acting.ts';
import { UsageError } from './exit.ts';
import { type Profile, readProfiles, saveProfile } from './profiles.ts';
import type { Session } from './session.ts';
import { checkTenant } from './tenants.ts';

interface SignInOptions {
  token?: boolean;
  operator?: string;
  email?: string;
}

export function signInCommands(program: Command, acting: Acting): void {
  program
    .command('sign-in')
    .description('stores who you are, in a profile that only you can read')
    .option('--token', 'an ID token is read instead of an API key')
    .option('--email <email>', 'a token of the development identity provider (npm start), which needs no password')
    .option('--operator <email>', 'a session of this operator: its password is read')
    .addHelpText('after', signInExamples)
    .action(acting(signIn));
  program.command('sign-out').description('deletes the profile').action(acting(signOut));
  program.command('profiles').description('lists the profiles').action(acting(listProfiles));
}

const signInExamples = `
The API key, token or password is read from standard input: what is written as an argument, others can see.

Examples:
  gantry sign-in --email ada@example.com
  gantry sign-in --url https://gantry.example.com --tenant $TENANT < api-key.txt
  gantry sign-in --profile on-call --operator ops@example.com`;

async function signIn(session: Session, options: SignInOptions): Promise<void> {
  const { env, url } = session;
  const signedIn: Profile = { url, ...(await credentialFor(session, options)) };
  const gantry = createGantry({ baseURL: url, auth: authOf(signedIn) });
  const tenantID = options.operator ? undefined : await tenantFor(session, gantry);
  const path = await saveProfile(env, session.profileName, { ...signedIn, ...(tenantID && { tenantID }) });
  session.note(`Signed in at ${url}, profile ${session.profileName} in ${path}`);
  if (!tenantID && !options.operator) session.note('Choose a tenant with: gantry tenants use <tenantID>');
}

async function credentialFor(session: Session, { token, operator, email }: SignInOptions): Promise<Partial<Profile>> {
  const anonymous = createGantry({ baseURL: session.url });
  if (email) return { token: await developmentToken(session.url, email) };
  if (operator) {
    const password = await session.readSecret(`Password of ${operator}: `);
    return { token: (await anonymous.call('loginOperator', { body: { email: operator, password } })).token };
  }
  const secret = await session.readSecret(token ? 'Token: ' : 'API key: ');
  if (!secret) throw new UsageError(`Nothing was read: expected ${token ? 'a token' : 'an API key'} on standard input`);
  return token ? { token: secret } : { apiKey: secret };
}

async function developmentToken(url: string, email: string): Promise<string> {
  const gantry = createGantry({ baseURL: url });
  await gantry.call('getHealth');
  const response = await fetch(`${url}/dev/token`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ email }),
  });
  if (!response.ok) throw new UsageError(`${url} has no development identity provider: leave out --email`);
  return ((await response.json()) as { token: string }).token;
}

function authOf({ apiKey, token = '' }: Profile): { apiKey: string } | { token: string } {
  return apiKey ? { apiKey } : { token };
}

/** The tenant that is named, or the only one. The request shows that the credential is valid. */
async function tenantFor({ tenantID, note }: Session, gantry: Gantry): Promise<string | undefined> {
  if (!tenantID) {
    const { tenants } = await gantry.call('listTenants', { query: { limit: 2 } });
    return tenants.length === 1 ? tenants[0]?.tenantID : undefined;
  }
  await checkTenant(gantry, tenantID, note);
  return tenantID;
}

async function signOut({ env, profileName, note }: Session): Promise<void> {
  await saveProfile(env, profileName, undefined);
  note(`The profile ${profileName} is deleted. A key stays valid until it is deleted in Gantry.`);
}

async function listProfiles(session: Session): Promise<void> {
  const { current, profiles } = await readProfiles(session.env);
  const rows = Object.entries(profiles).map(([name, { url, apiKey, tenantID }]) => ({
    name,
    isCurrent: name === current,
    url,
    signedInWith: apiKey ? 'API key' : 'token',
    tenantID: tenantID ?? null,
  }));
  session.showRows(rows, [
    ['', ({ isCurrent }) => (isCurrent ? '*' : ' ')],
    ['name', ({ name }) => name],
    ['url', ({ url }) => url],
    ['with', ({ signedInWith }) => signedInWith],
    ['tenant', ({ tenantID }) => tenantID],
  ]);
}
