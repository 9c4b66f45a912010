import type { RequestHandler } from 'express';
import { startPeriodicTask } from '#shared/concurrency/periodic-task.ts';
import type { KeyRing } from '#shared/core/key-ring.ts';
import type { Logger } from '#shared/core/logger.ts';
import type { Pool } from '#shared/db/pool.ts';
import type { Backplane } from '#shared/messaging/backplane/index.ts';
import type { Config } from '#shared/process/config.ts';
import type { TrustedIssuer } from '../auth/trusted-issuer.ts';
import { deleteExpired } from './delete-expired.ts';
import { openSigningKeys, type SigningKeys } from './signing-keys.ts';

/** Users of the built-in sign-in are stored under this name, since its address may change. */
const STORED_AS = 'gantry:accounts';
const DELETE_EVERY_MS = 600_000;

/** The built-in OpenID Connect provider. */
export interface SignIn extends AsyncDisposable {
  /** Verifies its tokens. */
  issuer: TrustedIssuer & { storedAs: string };
  /** Serves its pages. */
  serve: RequestHandler;
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
  const auditDays = config.worker.retention.operatorAuditMs / 86_400_000;
  resources.use(
    startPeriodicTask(
      {
        name: 'delete what the sign-in needs no more',
        everyMs: DELETE_EVERY_MS,
        firstAfterMs: DELETE_EVERY_MS,
        run: () => deleteExpired(pool, auditDays),
      },
      logger,
    ),
  );
  let opened: Promise<RequestHandler> | undefined;
  const open = () => {
    opened ??= openPages(dependencies, keys, resourcesOfPages);
    return opened;
  };
  const resourcesOfPages = resources.use(new DisposableStack());

  const owned = resources.move();
  return {
    issuer: { issuer, audience, keys: keys.find, storedAs: STORED_AS },
    async serve(request, response, next) {
      const handler = await open();
      return handler(request, response, next);
    },
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}

async function openPages(
  { config, pool, secrets, backplane, logger }: Dependencies,
  keys: SigningKeys,
  resources: DisposableStack,
): Promise<RequestHandler> {
  const [{ createProvider }, { signInRouter }, { createMailer }, { createPasswords }, { createSignInThrottle }] =
    await Promise.all([
      import('./provider.ts'),
      import('./router.ts'),
      import('./mail.ts'),
      import('../auth/passwords.ts'),
      import('./throttle.ts'),
    ]);
  const { issuer = '', audience: clientID = '' } = config.auth;
  const publicURL = config.console.publicURL ?? '';
  const make = () =>
    createProvider({ issuer, publicURL, clientID, mcpURL: config.mcp.publicURL, keys: keys.current(), pool });
  let made = { keys: keys.current(), provider: make() };
  return signInRouter({
    pool,
    secrets,
    logger,
    passwords: createPasswords(),
    throttle: createSignInThrottle(backplane),
    mailer: config.mail && resources.use(createMailer(config.mail)),
    publicURL,
    issuer,
    clientID,
    provider() {
      if (made.keys !== keys.current()) made = { keys: keys.current(), provider: make() };
      return made.provider;
    },
  });
}
