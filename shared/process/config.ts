import type { z } from 'zod';
import { type AISettings, lackOf } from '../apps/ai/providers.ts';
import { describeIssues } from '../core/schema/issues.ts';
import { parseValue } from '../core/schema/parse.ts';
import { hostAndPort, OWN_SERVER, type TenantServerAddress } from '../core/setting-formats.ts';
import type { S3Location } from '../datasources/files/s3-store.ts';
import type { BackplaneConfig } from '../messaging/backplane/types.ts';
import { EmbeddedEnvironment, Environment } from './environment.ts';

const DAY_MS = 86_400_000;
/** Where the API serves the built-in sign-in. Its issuer is the public URL with this path. */
export const SIGN_IN_PATH = '/sign-in';

export type EmbeddedConfig = ReturnType<typeof readEmbeddedConfig>;

export function readEmbeddedConfig(env: Record<string, string | undefined> = process.env) {
  const e = parse(EmbeddedEnvironment, env);
  if (e.DATABASE_URL && e.SECRETS_KEYS.length === 0)
    throw new Error(
      'Configuration: SECRETS_KEYS is required with DATABASE_URL, to seal stored credentials. ' +
        'Make a key once and keep it: SECRETS_KEYS="k1:$(openssl rand -base64 32)"',
    );
  return {
    home: e.GANTRY_HOME,
    port: e.PORT,
    boardPort: e.BOARD_PORT ?? e.PORT + 1,
    mcpPort: e.MCP_PORT ?? e.PORT + 2,
    databaseURL: e.DATABASE_URL,
    redis: readRedis(e),
    wantsTenantPostgres: e.TENANT_DATABASES && e.TENANT_DATABASES_URL.length === 0,
  };
}

export type Config = ReturnType<typeof readConfig>;
export type WorkerConfig = Config['worker'];

/** Parses the environment into nested values with units in their names. Refuses combinations that are invalid. */
export function readConfig(env: Record<string, string | undefined> = process.env) {
  const e = parse(Environment, env);
  const production = e.NODE_ENV === 'production';
  if (production) checkProduction(e);
  if (e.AUTH_ISSUER && e.DEV_ISSUER_KEY_FILE)
    throw new Error('Configuration: DEV_ISSUER_KEY_FILE and AUTH_ISSUER exclude each other');
  if (e.AUTH_ISSUER && !e.AUTH_AUDIENCE) throw new Error('Configuration: AUTH_AUDIENCE is required with AUTH_ISSUER');
  if (e.AUDIT_RETENTION_MIN_DAYS > e.AUDIT_RETENTION_MAX_DAYS)
    throw new Error('Configuration: AUDIT_RETENTION_MIN_DAYS must not be above AUDIT_RETENTION_MAX_DAYS');
  checkOAuth(e);

  const answerMs = Math.round(e.DATABASE_ANSWER_SECONDS * 1000);
  const backplane: BackplaneConfig = {
    prefix: e.BACKPLANE_PREFIX,
    databaseURL: e.DATABASE_URL,
    answerMs,
    redis: readRedis(e),
  };
  return {
    production,
    log: { level: e.LOG_LEVEL },
    db: { url: e.DATABASE_URL, poolSize: e.DATABASE_POOL, answerMs },
    backplane,
    http: {
      host: e.HOST,
      port: e.PORT,
      corsOrigins: e.CORS_ORIGINS,
      maxBodyBytes: e.BODY_LIMIT_BYTES,
      trustedProxies: e.TRUSTED_PROXIES,
      maxPerAddress: e.CONNECTIONS_PER_ADDRESS,
      stacks: !production,
    },
    console: { folder: e.CONSOLE_DIR, publicURL: e.PUBLIC_URL },
    metrics: e.METRICS_PORT === undefined ? null : { host: e.HOST, port: e.METRICS_PORT, tenantIDs: e.METRICS_TENANTS },
    board: { host: e.HOST, port: e.BOARD_PORT, openOnLoopback: e.BOARD_OPEN_ON_LOOPBACK },
    mcp: { host: e.HOST, port: e.MCP_PORT, publicURL: e.MCP_PUBLIC_URL ?? mcpOnThisMachine(e) },
    auth: {
      ...readIssuer(e),
      jwksURL: e.AUTH_JWKS_URL,
      devIssuerKeyFile: e.DEV_ISSUER_KEY_FILE,
      testBypass: e.AUTH_TEST_BYPASS,
    },
    mail: readMail(e),
    tenantCreation: e.TENANT_CREATION,
    apiKeys: { defaultDays: e.API_KEY_DEFAULT_DAYS },
    auditFlushMs: e.AUDIT_BUFFER_SECONDS * 1000,
    requestsPerMinute: { apiKey: e.API_KEY_REQUESTS_PER_MINUTE, user: e.USER_REQUESTS_PER_MINUTE },
    secrets: { keys: e.SECRETS_KEYS },
    outbound: { allow: e.OUTBOUND_ALLOW, deny: e.OUTBOUND_DENY },
    syslogPorts: e.SYSLOG_PORTS,
    files: { folder: e.FILES_DIR, s3: readS3(e) },
    backups: { s3: readBackupS3(e) },
    oauth: { publicURL: e.PUBLIC_URL ?? '', providers: e.OAUTH_PROVIDERS, uiOrigins: e.CORS_ORIGINS },
    ai: readAI(e),
    tenantDatabases: {
      provision: e.TENANT_DATABASES,
      servers: tenantServersOf(e),
      ownURL: e.DATABASE_URL,
      onDemand: e.TENANT_DATABASES_ON_DEMAND,
      maxBytes: e.TENANT_DATABASES_MAX_BYTES,
      programs: e.PG_BIN,
      maxConnections: e.TENANT_DATABASES_CONNECTIONS,
      maxPerServer: e.TENANT_DATABASES_PER_SERVER,
    },
    worker: {
      slots: e.WORKER_SLOTS,
      leaseMs: Math.round(e.WORKER_SESSION_SECONDS * 1000),
      listenerLeaseMs: Math.round(e.LISTENER_LEASE_SECONDS * 1000),
      staleAfterMs: e.STALE_WORKFLOW_WINDOW * 1000,
      cronLateMs: e.CRON_LATE_SECONDS * 1000,
      nodeOutputMaxBytes: e.NODE_OUTPUT_MAX_BYTES,
      runOutputMaxBytes: e.RUN_OUTPUT_MAX_BYTES,
      heldRunsMaxBytes: e.HELD_RUNS_MAX_BYTES,
      retention: {
        runsMs: e.RUN_RETENTION_DAYS * DAY_MS,
        maxRunsMs: Math.max(e.RUN_RETENTION_DAYS, e.RUN_RETENTION_MAX_DAYS ?? 0) * DAY_MS,
        queryRunsMs: e.QUERY_RUN_RETENTION_DAYS * DAY_MS,
        operatorAuditMs: e.OPERATOR_AUDIT_RETENTION_DAYS * DAY_MS,
        auditMs: e.AUDIT_RETENTION_DAYS * DAY_MS,
        minAuditMs: e.AUDIT_RETENTION_MIN_DAYS * DAY_MS,
        maxAuditMs: e.AUDIT_RETENTION_MAX_DAYS * DAY_MS,
      },
    },
    sandbox: {
      processes: e.SANDBOX_PROCESSES,
      isPerTenant: e.SANDBOX_PER_TENANT,
      maxOutputBytes: e.NODE_OUTPUT_MAX_BYTES,
    },
    heldBytes: { maxBytes: e.HELD_MAX_BYTES },
    shutdownMs: e.SHUTDOWN_SECONDS * 1000,
  };
}

function readRedis(e: Pick<z.output<typeof Environment>, `REDIS_${string}` & keyof typeof Environment.shape>) {
  if (!e.REDIS_URL) return undefined;
  const sentinels = e.REDIS_SENTINELS.map((address) => {
    const [host = '', port = '26379'] = address.split(':');
    return { host, port: Number(port) };
  });
  return { url: e.REDIS_URL, sentinels, sentinelMaster: e.REDIS_SENTINEL_MASTER };
}

function readAI(e: z.output<typeof Environment>): AISettings | null {
  const { AI_PROVIDER: provider, AI_MODEL: model } = e;
  if (provider === undefined) return null;
  if (model === undefined) throw new Error('Configuration: AI_MODEL is required with AI_PROVIDER');
  const settings = { provider, model, baseURL: e.AI_BASE_URL ?? null, apiKey: e.AI_API_KEY ?? null };
  const lack = lackOf(settings);
  if (lack) throw new Error(`Configuration: ${lack.field === 'apiKey' ? 'AI_API_KEY' : 'AI_BASE_URL'} ${lack.message}`);
  return settings;
}

function readS3(e: z.output<typeof Environment>): S3Location | undefined {
  const [bucket, accessKeyId, secretAccessKey] = [e.FILES_BUCKET, e.FILES_ACCESS_KEY_ID, e.FILES_SECRET_ACCESS_KEY];
  if (!bucket) return undefined;
  if (!accessKeyId || !secretAccessKey)
    throw new Error('Configuration: FILES_ACCESS_KEY_ID and FILES_SECRET_ACCESS_KEY are required with FILES_BUCKET');
  return { endpoint: e.FILES_ENDPOINT, region: e.FILES_REGION, bucket, accessKeyId, secretAccessKey };
}

/** The server of the files, unless backups have one of their own. */
function readBackupS3(e: z.output<typeof Environment>): Omit<S3Location, 'bucket'> | undefined {
  const hasOwn = e.BACKUP_ACCESS_KEY_ID !== undefined;
  const [accessKeyId, secretAccessKey] = hasOwn
    ? [e.BACKUP_ACCESS_KEY_ID, e.BACKUP_SECRET_ACCESS_KEY]
    : [e.FILES_ACCESS_KEY_ID, e.FILES_SECRET_ACCESS_KEY];
  if (!accessKeyId || !secretAccessKey) return undefined;
  const endpoint = hasOwn ? e.BACKUP_ENDPOINT : e.FILES_ENDPOINT;
  return { endpoint, region: e.BACKUP_REGION ?? e.FILES_REGION, accessKeyId, secretAccessKey };
}

function tenantServersOf(e: z.output<typeof Environment>): TenantServerAddress[] {
  return e.TENANT_DATABASES_URL.map(({ name, url }) => {
    if (name === OWN_SERVER) return { name, url: e.DATABASE_URL };
    if (hostAndPort(url) === hostAndPort(e.DATABASE_URL))
      throw new Error(
        `Configuration: TENANT_DATABASES_URL names the server of DATABASE_URL. If databases of tenants shall be on it, write the word ${OWN_SERVER} in place of its URL`,
      );
    return { name, url };
  });
}

const notInProduction = ['DEV_ISSUER_KEY_FILE', 'BOARD_OPEN_ON_LOOPBACK', 'AUTH_TEST_BYPASS'] as const;

function checkProduction(e: z.output<typeof Environment>): void {
  for (const name of notInProduction)
    if (e[name]) throw new Error(`Configuration: ${name} must not be set in production`);
  if (!e.AUTH_ISSUER && !e.AUTH)
    throw new Error('Configuration: AUTH_ISSUER, or AUTH=builtin, is required in production');
  // Over http, anyone on the way could exchange the keys that tokens are checked with.
  for (const name of ['AUTH_ISSUER', 'AUTH_JWKS_URL'] as const)
    if (e[name] && !e[name].startsWith('https:'))
      throw new Error(`Configuration: ${name} must begin with https:// in production`);
  if (e.SECRETS_KEYS.length === 0)
    throw new Error('Configuration: SECRETS_KEYS is required in production (<keyID>:<base64 of 32 bytes>)');
}

/** Who signs users in: a provider, this service itself, or nothing. */
function readIssuer(e: z.output<typeof Environment>) {
  const isBuiltIn = e.AUTH === 'builtin' && !e.AUTH_ISSUER;
  if (!isBuiltIn) return { issuer: e.AUTH_ISSUER, audience: e.AUTH_AUDIENCE, isBuiltIn };
  checkBuiltin(e);
  return { issuer: `${e.PUBLIC_URL}${SIGN_IN_PATH}`, audience: e.AUTH_AUDIENCE ?? 'gantry', isBuiltIn };
}

/** Tokens of the built-in sign-in name the address of the MCP service, which without a proxy is that of its port. */
function mcpOnThisMachine(e: z.output<typeof Environment>): string | undefined {
  const { isBuiltIn } = readIssuer(e);
  const url = isBuiltIn ? URL.parse(e.PUBLIC_URL ?? '') : null;
  return url?.protocol === 'http:' ? `http://${url.hostname}:${e.MCP_PORT}` : undefined;
}

function readMail({ SMTP_URL: url, MAIL_FROM: from }: z.output<typeof Environment>) {
  return url && from ? { url, from } : null;
}

/** Passwords and cookies cross the network, so only a browser on the same machine may do without https. */
function checkBuiltin(e: z.output<typeof Environment>): void {
  if (e.DEV_ISSUER_KEY_FILE) throw new Error('Configuration: DEV_ISSUER_KEY_FILE and AUTH=builtin exclude each other');
  if (!e.PUBLIC_URL) throw new Error('Configuration: PUBLIC_URL is required with AUTH=builtin');
  const { protocol, hostname } = new URL(e.PUBLIC_URL);
  if (protocol !== 'https:' && !/^(localhost|127(\.\d+){3}|\[::1\])$/.test(hostname))
    throw new Error(
      'Configuration: PUBLIC_URL must begin with https:// with AUTH=builtin, except on a loopback address',
    );
  if (e.SECRETS_KEYS.length === 0)
    throw new Error('Configuration: SECRETS_KEYS is required with AUTH=builtin, to seal the keys that sign tokens');
  if (Boolean(e.SMTP_URL) !== Boolean(e.MAIL_FROM))
    throw new Error('Configuration: SMTP_URL and MAIL_FROM go together: set both or neither');
}

function checkOAuth({ NODE_ENV, PUBLIC_URL, OAUTH_PROVIDERS }: z.output<typeof Environment>): void {
  if (OAUTH_PROVIDERS.length > 0 && !PUBLIC_URL)
    throw new Error('Configuration: PUBLIC_URL is required with OAUTH_PROVIDERS');
  if (NODE_ENV !== 'production') return;
  for (const { name, authorizationURL, tokenURL, revocationURL = tokenURL } of OAUTH_PROVIDERS)
    if (![PUBLIC_URL, authorizationURL, tokenURL, revocationURL].every((url) => url?.startsWith('https:')))
      throw new Error(`Configuration: in production PUBLIC_URL and the addresses of ${name} must begin with https://`);
}

/** An empty variable counts as not set. */
function parse<S extends z.ZodType>(schema: S, env: Record<string, string | undefined>): z.output<S> {
  const parsed = parseValue(schema, Object.fromEntries(Object.entries(env).filter(([, value]) => value !== '')));
  if (parsed.success) return parsed.data;
  throw new Error(`Configuration: ${describeIssues(parsed.issues)}`);
}
