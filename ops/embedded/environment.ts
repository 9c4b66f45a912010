import { join } from 'node:path';
import type { Config } from '#shared/process/config.ts';
import { EMBEDDED_SERVER } from '#shared/tenants/embedded-server.ts';
import type { Home } from './home.ts';

interface Ports {
  port: number;
  boardPort: number;
  mcpPort: number;
}

interface Started {
  databaseURL: string;
  tenantsURL: string | undefined;
  consoleDir: string;
  ports: Ports;
  /** `npm start -- --production` */
  isProduction: boolean;
}

/** Without an identity provider, and not in production: anyone on this machine may sign in, and open the board. */
function isForDevelopment(): boolean {
  return !process.env.AUTH_ISSUER && !process.env.AUTH && process.env.NODE_ENV !== 'production';
}

/** Checked before anything is started. */
export function requirePublicURL(): void {
  if (process.env.PUBLIC_URL) return;
  throw new Error(
    'Configuration: PUBLIC_URL is required with --production: the address at which people reach this Gantry, ' +
      'such as https://gantry.example.com',
  );
}

/** Settings of `npm start` for its processes. */
export function startEnvironment(home: Home, { databaseURL, tenantsURL, consoleDir, ports, isProduction }: Started) {
  const { port, boardPort, mcpPort } = ports;
  const isDevelopment = !isProduction && isForDevelopment();
  return {
    ...process.env,
    DATABASE_URL: databaseURL,
    ...(tenantsURL && { TENANT_DATABASES_URL: `${EMBEDDED_SERVER}=${tenantsURL}`, TENANT_DATABASES_ON_DEMAND: 'true' }),
    HOST: '127.0.0.1',
    PORT: String(port),
    CONSOLE_DIR: process.env.CONSOLE_DIR || consoleDir,
    PUBLIC_URL: process.env.PUBLIC_URL || `http://127.0.0.1:${port}`,
    BOARD_PORT: String(boardPort),
    MCP_PORT: String(mcpPort),
    SECRETS_KEYS: process.env.SECRETS_KEYS || home.secretsKeys,
    FILES_DIR: process.env.FILES_DIR || join(home.dir, 'files'),
    // A developer's databases run on the same machine; the banner says that this is allowed.
    OUTBOUND_ALLOW: process.env.OUTBOUND_ALLOW ?? '127.0.0.0/8,::1',
    BOARD_OPEN_ON_LOOPBACK: String(isDevelopment),
    DATABASE_POOL: process.env.DATABASE_POOL ?? '8',
    ...(isDevelopment && { DEV_ISSUER_KEY_FILE: join(home.dir, 'issuer-key.json') }),
    ...(isProduction && productionDefaults()),
  };
}

/** Nothing that is for a developer's machine alone. Users sign in at this service itself, unless a provider is named. */
function productionDefaults() {
  const { AUTH_ISSUER, HOST, OUTBOUND_ALLOW, TRUSTED_PROXIES } = process.env;
  const host = HOST || '127.0.0.1';
  return {
    NODE_ENV: 'production',
    ...(!AUTH_ISSUER && { AUTH: 'builtin' }),
    HOST: host,
    OUTBOUND_ALLOW: OUTBOUND_ALLOW ?? '',
    // Requests to a service that listens on this machine alone come through a proxy here, which says where from.
    TRUSTED_PROXIES: TRUSTED_PROXIES || (host === '127.0.0.1' ? 'loopback' : ''),
  };
}

/** The worker serves its metrics on the port after the API's, which its tenants do not reach either. */
export function workerEnvironment(env: ReturnType<typeof startEnvironment>, { metrics }: Config) {
  if (!metrics || metrics.port === 0) return env;
  const denied = [process.env.OUTBOUND_DENY, `${metrics.host}:${metrics.port}`].filter(Boolean).join(',');
  return { ...env, METRICS_PORT: String(metrics.port + 1), OUTBOUND_DENY: denied };
}
