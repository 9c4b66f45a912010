import type { RequestHandler } from 'express';
import type { Person } from '#shared/access/account-status.ts';
import type { KeyRing } from '#shared/core/key-ring.ts';
import type { Logger } from '#shared/core/logger.ts';
import type { Pool } from '#shared/db/pool.ts';
import type { Backplane } from '#shared/messaging/backplane/index.ts';
import type { Config } from '#shared/process/config.ts';
import type { App } from '../auth/identity.ts';
import { createNotes } from '../auth/last-uses.ts';
import type { TrustedIssuer } from '../auth/trusted-issuer.ts';
import { STORED_AS } from './accounts.ts';
import { findAppCall, noteAppUse } from './apps.ts';
import type { Needs } from './needs.ts';
import { openSigningKeys, type SigningKeys } from './signing-keys.ts';

/** The built-in OpenID Connect provider. */
export interface SignIn extends AsyncDisposable {
  /** Verifies its tokens. */
  issuer: TrustedIssuer & { storedAs: string };
  /** The user and the app of an access token that is good for this address of the MCP service. */
  findAppCall(token: string, resource: string): Promise<{ person: Person; app: App } | undefined>;
  /** Serves its pages. */
  serve: RequestHandler;
  /**
   * Sends an invitation to an address without an account, if the deployment sends mail. `countedFor`: the inviter's tenant, which may
   * send some mails an hour. Never to the inviter: with the link, they could take the address of another person.
   */
  invite(email: string, countedFor: string): Promise<void>;
}

interface Dependencies {
  config: Config;
  pool: Pool;
  secrets: KeyRing;
  backplane: Backplane;
  logger: Logger;
}

/** Opens the keys. What serves the pages is loaded with their first request: the MCP service never needs it. */
export async function openSignIn(dependencies: Dependencies): Promise<SignIn> {
  const { config, pool, secrets, logger } = dependencies;
  const { issuer = '', audience = '' } = config.auth;
  await using resources = new AsyncDisposableStack();
  const keys = resources.use(await openSigningKeys({ pool, secrets, logger }));
  const uses = resources.use(createNotes((grantIDs) => noteAppUse(pool, grantIDs), logger));
  const resourcesOfPages = resources.use(new DisposableStack());
  let opened: ReturnType<typeof openPages> | undefined;
  const open = () => {
    opened ??= openPages(dependencies, keys, resourcesOfPages);
    return opened;
  };

  const owned = resources.move();
  return {
    issuer: { issuer, audience, keys: keys.find, storedAs: STORED_AS },
    async findAppCall(token, resource) {
      const call = await findAppCall(pool, token);
      if (!call || call.resource !== resource) return undefined;
      if (!call.isUseNoted) uses.add(call.grantID);
      const { accountID: subject, email } = call;
      const person = { issuer: STORED_AS, subject, email, isEmailVerified: true, firstName: null, lastName: null };
      return { person, app: { clientID: call.clientID, name: call.name, scopes: call.scopes } };
    },
    async serve(request, response, next) {
      const { handler } = await open();
      return handler(request, response, next);
    },
    async invite(email, countedFor) {
      if (config.mail) await (await open()).invite(email, countedFor);
    },
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}

async function openPages(
  { config, pool, secrets, backplane, logger }: Dependencies,
  keys: SigningKeys,
  resources: DisposableStack,
): Promise<{ handler: RequestHandler; invite: SignIn['invite'] }> {
  const [{ createProvider }, { signInRouter }, { sendInvitation }, { createMailer }, { createPasswords }, throttles] =
    await Promise.all([
      import('./provider.ts'),
      import('./router.ts'),
      import('./invite.ts'),
      import('./mail.ts'),
      import('../auth/passwords.ts'),
      import('./throttle.ts'),
    ]);
  const { issuer = '', audience: clientID = '' } = config.auth;
  const publicURL = config.console.publicURL ?? '';
  const mcpURL = config.mcp.publicURL;
  const make = () => createProvider({ issuer, publicURL, clientID, mcpURL, keys: keys.current(), pool, logger });
  let made = { keys: keys.current(), provider: make() };
  const needs: Needs = {
    pool,
    secrets,
    logger,
    passwords: createPasswords(),
    throttle: throttles.createSignInThrottle(backplane),
    mailer: config.mail && resources.use(createMailer(config.mail)),
    publicURL,
    issuer,
    clientID,
    mcpURL,
    provider() {
      if (made.keys !== keys.current()) made = { keys: keys.current(), provider: make() };
      return made.provider;
    },
  };
  return {
    handler: signInRouter(needs),
    invite: (email, countedFor) => sendInvitation(needs, email, countedFor),
  };
}
