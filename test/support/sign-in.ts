import * as oauth from 'oauth4webapi';
import { createPasswords } from '#api/auth/passwords.ts';
import { ensureAccount, setPassword } from '#api/sign-in/accounts.ts';
import { makeLink } from '#api/sign-in/links.ts';
import { inTransaction } from '#shared/db/pool.ts';
import { type Cluster, type ClusterOptions, startCluster } from './cluster.ts';
import { createVisitor, type Page, type Visitor } from './visitor.ts';

/** The name of the deployment with the built-in sign-in; only the tests' browser resolves it. */
export const site = 'https://gantry.test';
export const issuer = `${site}/sign-in`;
export const password = 'seven brown foxes under a bridge';
const redirectURI = `${site}/console/signed-in`;

export const builtinSettings = {
  DEV_ISSUER_KEY_FILE: '',
  AUTH: 'builtin',
  PUBLIC_URL: site,
  TRUSTED_PROXIES: 'loopback',
};

export function startSignInCluster(options: ClusterOptions = {}): Promise<Cluster> {
  return startCluster({ workers: false, ...options, settings: { ...builtinSettings, ...options.settings } });
}

let visitors = 0;

/** A new browser at a network of its own, as all limits count by networks. */
export function visit({ baseURL }: { baseURL: string }, ip?: string): Visitor {
  visitors += 1;
  return createVisitor({ site, at: baseURL, ip: ip ?? `203.0.${Math.floor(visitors / 250)}.${(visitors % 250) + 1}` });
}

/** Takes 50 ms, so all accounts of a file share it. */
let hashed: Promise<string> | undefined;

/** An account with `password`. */
export async function anAccount({ pool }: Cluster, email: string): Promise<{ accountID: string; email: string }> {
  hashed ??= createPasswords().hash(password);
  const passwordHash = await hashed;
  const accountID = await ensureAccount(pool, email);
  await inTransaction(pool, (client) => setPassword(client, { accountID, passwordHash }));
  // A sign-in of the same second would be older than the password.
  await pool.query('update sign_in_account set valid_after = 0 where id = $1', [accountID]);
  return { accountID, email };
}

/** Chooses a password by an invitation; answers with the page that follows. */
export async function acceptInvitation(cluster: Cluster, email: string, chosen: string): Promise<Page> {
  const accountID = await ensureAccount(cluster.pool, email);
  const token = await makeLink(cluster.pool, { accountID, purpose: 'INVITATION' });
  const visitor = visit(cluster);
  return await visitor.submit(await visitor.open(`${issuer}/link/${token}`), { password: chosen });
}

/** A client of the provider, as the console is one. */
export interface Flow {
  url: URL;
  verifier: string;
  state: string;
  nonce: string;
}

export async function startFlow(more: Record<string, string | undefined> = {}): Promise<Flow> {
  const [verifier, state, nonce] = [
    oauth.generateRandomCodeVerifier(),
    oauth.generateRandomState(),
    oauth.generateRandomNonce(),
  ];
  const url = new URL(`${issuer}/auth`);
  const parameters = {
    client_id: 'gantry',
    redirect_uri: redirectURI,
    response_type: 'code',
    scope: 'openid email profile offline_access',
    code_challenge: await oauth.calculatePKCECodeChallenge(verifier),
    code_challenge_method: 'S256',
    state,
    nonce,
    ...more,
  };
  for (const [name, value] of Object.entries(parameters)) if (value !== undefined) url.searchParams.set(name, value);
  return { url, verifier, state, nonce };
}

/** The page of the password, of a sign-in that has begun. */
export async function openSignIn(
  visitor: Visitor,
  more: Record<string, string | undefined> = {},
): Promise<{ page: Page; flow: Flow }> {
  const flow = await startFlow(more);
  return { page: await visitor.open(flow.url.href), flow };
}

/** The whole way with a password alone; answers with the page that it ends with. */
export async function signIn(
  visitor: Visitor,
  { email, chosen = password }: { email: string; chosen?: string },
): Promise<{ page: Page; flow: Flow }> {
  const { page, flow } = await openSignIn(visitor);
  return { page: await visitor.submit(page, { email, password: chosen }), flow };
}

export const client: oauth.Client = { client_id: 'gantry', token_endpoint_auth_method: 'none' };

/** Talks to the provider as a program does; `at` answers for its site. */
export function programAt(at: string) {
  const options = {
    [oauth.customFetch]: (url: string, init: RequestInit) =>
      fetch(at + new URL(url).pathname + new URL(url).search, init),
  } as object;
  const discover = async () => {
    const response = await oauth.discoveryRequest(new URL(issuer), { algorithm: 'oidc', ...options });
    return await oauth.processDiscoveryResponse(new URL(issuer), response);
  };
  return {
    discover,
    async redeem({ verifier, state, nonce }: Flow, address: URL) {
      const server = await discover();
      const parameters = oauth.validateAuthResponse(server, client, address, state);
      const response = await oauth.authorizationCodeGrantRequest(
        server,
        client,
        oauth.None(),
        parameters,
        redirectURI,
        verifier,
        options,
      );
      return await oauth.processAuthorizationCodeResponse(server, client, response, {
        expectedNonce: nonce,
        requireIdToken: true,
      });
    },
    async refresh(refreshToken: string) {
      const server = await discover();
      const response = await oauth.refreshTokenGrantRequest(server, client, oauth.None(), refreshToken, options);
      return await oauth.processRefreshTokenResponse(server, client, response);
    },
  };
}
