import { availableParallelism } from 'node:os';
import { z } from 'zod';
import { aiProviders } from '../apps/ai/providers.ts';
import { NumberText } from '../core/schema/number-text.ts';
import {
  keyRing,
  list,
  networks,
  networksAndServers,
  port,
  portsOfTenants,
  readNetwork,
  seconds,
  tenantServers,
} from '../core/setting-formats.ts';
import { OAuthProviders } from './oauth-providers.ts';

const networkNames = ['loopback', 'linklocal', 'uniquelocal'];

/** All variables of the environment that Gantry reads. Only `config.ts` reads them. */
export const Environment = z.object({
  NODE_ENV: z.enum(['development', 'test', 'production']).default('development'),
  DATABASE_URL: z.url({ protocol: /^postgres(ql)?$/, error: 'must be a postgres:// URL' }),
  DATABASE_POOL: NumberText(z.int().min(2).max(200)).prefault(10),
  /** Seconds after which a connection that does not answer a statement is treated as dead. */
  DATABASE_ANSWER_SECONDS: NumberText(z.number().min(1).max(3_600)).prefault(30),
  REDIS_URL: z.url({ protocol: /^rediss?$/, error: 'must be a redis:// URL' }).optional(),
  /** Comma-separated host:port of Sentinels; REDIS_URL then gives credentials and database, REDIS_SENTINEL_MASTER the name. */
  REDIS_SENTINELS: list,
  REDIS_SENTINEL_MASTER: z.string().default('mymaster'),
  /** Separates deployments that share one Redis, or one Postgres for queues. */
  BACKPLANE_PREFIX: z
    .string()
    .regex(/^[a-z][a-z0-9_]{0,30}$/)
    .default('gantry'),
  HOST: z.string().default('127.0.0.1'),
  PORT: port(0).prefault(8080),
  BOARD_PORT: port(0).prefault(8081),
  /** The port of the MCP service. */
  MCP_PORT: port(0).prefault(5001),
  /** URL under which clients reach the MCP service, such as https://mcp.example.com; absent: the one that the client used. */
  MCP_PUBLIC_URL: z
    .url({ protocol: /^https?$/, error: 'must be a URL that begins with https://' })
    .transform((url) => url.replace(/\/+$/, ''))
    .optional(),
  /** Port at which the process serves its metrics, separate from the API; absent: it serves none. */
  METRICS_PORT: port(0).optional(),
  /** Tenants whose ids are the label `tenant` of some metrics; all others are one. */
  METRICS_TENANTS: list.pipe(z.array(z.uuid()).max(50)),
  /** `npm start` only: the board needs no sign-in on the same machine. */
  BOARD_OPEN_ON_LOOPBACK: z.stringbool().default(false),
  CORS_ORIGINS: list,
  /** Folder of the built console, which the API serves at `/console/`. */
  CONSOLE_DIR: z.string().optional(),
  /** URL under which browsers reach this service, such as https://api.example.com. Redirect URIs never come from a request. */
  PUBLIC_URL: z
    .url({ protocol: /^https?$/, error: 'must be a URL that begins with https://' })
    .transform((url) => url.replace(/\/+$/, ''))
    .optional(),
  /** OAuth providers by name, as JSON: `{"google":{"clientID":"…","clientSecret":"…"}}`; all fields are in `oauth-providers.ts`. */
  OAUTH_PROVIDERS: OAuthProviders,
  /** The language model for tenants that have none of their own; absent: they have none. */
  AI_PROVIDER: z.enum(aiProviders).optional(),
  /** Absent: the provider's own. It is reached through the gate, so a private address must be in OUTBOUND_ALLOW. */
  AI_BASE_URL: z.url({ protocol: /^https?$/, error: 'must be a URL that begins with https://' }).optional(),
  AI_API_KEY: z.string().min(1).optional(),
  AI_MODEL: z.string().min(1).optional(),
  /** Addresses or networks of the proxies in front, whose X-Forwarded-For says where a request comes from. */
  TRUSTED_PROXIES: list.refine((items) => items.every((item) => networkNames.includes(item) || readNetwork(item)), {
    error: 'must be addresses, networks such as 10.0.0.0/8, or loopback, linklocal, uniquelocal',
  }),
  BODY_LIMIT_BYTES: NumberText(z.int().positive()).prefault(5 * 1024 * 1024),
  /** `builtin`: users sign in at this service itself, with an account that it stores. AUTH_ISSUER, if set, comes first. */
  AUTH: z.literal('builtin').optional(),
  AUTH_ISSUER: z.url().optional(),
  AUTH_AUDIENCE: z.string().optional(),
  AUTH_JWKS_URL: z.url().optional(),
  /** File holding the development issuer's signing key; set by the embedded mode only. */
  DEV_ISSUER_KEY_FILE: z.string().optional(),
  /** Server that sends the mails of the built-in sign-in: `smtp://user:password@host:587`, or `smtps://…:465`. */
  SMTP_URL: z.url({ protocol: /^smtps?$/, error: 'must be a URL that begins with smtp:// or smtps://' }).optional(),
  /** Sender of those mails, such as `Gantry <gantry@example.com>`. */
  MAIL_FROM: z.string().min(3).max(320).optional(),
  /** Who may create tenants: any user, or only those whose address is that of an operator. */
  TENANT_CREATION: z.enum(['anyone', 'operators']).default('anyone'),
  /** For tests only: `Bearer test:<email>` signs in without a check. Refused in production; the log warns of it. */
  AUTH_TEST_BYPASS: z.stringbool().default(false),
  /** Lifetime in days of an API key whose creator names none. */
  API_KEY_DEFAULT_DAYS: NumberText(z.number().positive().max(36_500)).prefault(90),
  /** Requests a minute for one API key, over all API processes; 0 switches the limit off. */
  API_KEY_REQUESTS_PER_MINUTE: NumberText(z.int().min(0)).prefault(1000),
  /** Requests and socket events a minute of one user, over all API processes; 0 switches the limit off. */
  USER_REQUESTS_PER_MINUTE: NumberText(z.int().min(0)).prefault(6000),
  /** Connections of one client address to one API process; 0 switches the limit off. */
  CONNECTIONS_PER_ADDRESS: NumberText(z.int().min(0)).prefault(5000),
  /** Keys that seal stored secrets, newest first: `<keyID>:<base64 of 32 bytes>,…` (`openssl rand -base64 32`). */
  SECRETS_KEYS: keyRing,
  /** Addresses and networks that workers may reach although they are private, loopback or otherwise not of the internet. */
  OUTBOUND_ALLOW: networks,
  /**
   * Addresses, networks and `host:port` that workers never reach for a tenant, OUTBOUND_ALLOW or not. The addresses that the other
   * variables name are refused without it.
   */
  OUTBOUND_DENY: networksAndServers,
  /** Whether a tenant without a database gets one when it first needs it. */
  TENANT_DATABASES: z.stringbool().default(true),
  /**
   * PostgreSQL servers for the databases of tenants. SQL of tenants is arbitrary, and all databases of a server share its roles,
   * connections, disk and memory, so the deployment's own server counts only when the list contains the word DATABASE_URL.
   */
  TENANT_DATABASES_URL: tenantServers,
  /** Set by `npm start`: the server for tenants' databases is started only when a worker asks for it. */
  TENANT_DATABASES_ON_DEMAND: z.stringbool().default(false),
  /** Databases on one server. A server with as many gets no new ones. */
  TENANT_DATABASES_PER_SERVER: NumberText(z.int().min(1)).prefault(500),
  /** Connections of one worker process to one server of tenants' databases, over all tenants. */
  TENANT_DATABASES_CONNECTIONS: NumberText(z.int().min(1)).prefault(20),
  /** Bytes of one tenant's database on these servers; 0 is no limit. */
  TENANT_DATABASES_MAX_BYTES: NumberText(z.int().min(0)).prefault(10 * 1024 ** 3),
  /** Folder for files of tenants, which every process must have under this path. Without a folder and a bucket, files are in Postgres. */
  FILES_DIR: z.string().optional(),
  /** Bucket for files of tenants; it wins over FILES_DIR, whose files stay readable. */
  FILES_BUCKET: z
    .string()
    .regex(/^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$/, 'must be the name of a bucket')
    .optional(),
  /** Absent: Amazon's. */
  FILES_ENDPOINT: z.url({ protocol: /^https?$/, error: 'must be a URL that begins with https://' }).optional(),
  FILES_REGION: z.string().default('us-east-1'),
  FILES_ACCESS_KEY_ID: z.string().optional(),
  FILES_SECRET_ACCESS_KEY: z.string().optional(),
  /** S3 server for backups with the target s3://…; absent: those of FILES_…. */
  BACKUP_ENDPOINT: z.url({ protocol: /^https?$/, error: 'must be a URL that begins with https://' }).optional(),
  BACKUP_REGION: z.string().optional(),
  BACKUP_ACCESS_KEY_ID: z.string().optional(),
  BACKUP_SECRET_ACCESS_KEY: z.string().optional(),
  /** Folder of `pg_dump` and `pg_restore` for moving a tenant's database, and for backups. */
  PG_BIN: z.string().optional(),
  LOG_LEVEL: z.enum(['silent', 'fatal', 'error', 'warn', 'info', 'debug', 'trace']).default('info'),
  /** Seconds; RUNNING runs without a sign of life for longer are FAILED when the service starts. 0 resumes them instead. */
  STALE_WORKFLOW_WINDOW: seconds(300),
  CRON_LATE_SECONDS: seconds(60),
  /** Nodes running at once in one worker process. */
  WORKER_SLOTS: NumberText(z.int().min(1).max(10_000)).prefault(50),
  WORKER_SESSION_SECONDS: NumberText(z.number().min(1).max(600)).prefault(30),
  /** Ports of the workers that listeners of a tenant may bind for syslog. */
  SYSLOG_PORTS: portsOfTenants,
  /** How long a listener with a connection stays with a worker that has died. */
  LISTENER_LEASE_SECONDS: NumberText(z.number().min(1).max(600)).prefault(6),
  /** A process for user code serves one tenant, until it has idled for 10 s. */
  SANDBOX_PER_TENANT: z.stringbool().default(false),
  SANDBOX_PROCESSES: NumberText(z.int().min(1).max(64)).prefault(availableParallelism()),
  /** Bytes of bodies and answers that one process holds at once; one request or node may hold half of them. */
  HELD_MAX_BYTES: NumberText(z.int().min(32 * 1024 ** 2)).prefault(128 * 1024 ** 2),
  /** Inputs and outputs of the runs that a worker holds, as JSON text. */
  HELD_RUNS_MAX_BYTES: NumberText(z.int().positive()).prefault(64 * 1024 ** 2),
  NODE_OUTPUT_MAX_BYTES: NumberText(z.int().positive()).prefault(5 * 1024 * 1024),
  RUN_OUTPUT_MAX_BYTES: NumberText(z.int().positive()).prefault(32 * 1024 * 1024),
  RUN_RETENTION_DAYS: NumberText(z.number().positive()).prefault(30),
  RUN_RETENTION_MAX_DAYS: NumberText(z.number().positive()).optional(),
  QUERY_RUN_RETENTION_DAYS: NumberText(z.number().positive()).prefault(7),
  OPERATOR_AUDIT_RETENTION_DAYS: NumberText(z.number().positive()).prefault(400),
  AUDIT_BUFFER_SECONDS: NumberText(z.number().positive().max(60)).prefault(5),
  AUDIT_RETENTION_DAYS: NumberText(z.number().min(1)).prefault(90),
  AUDIT_RETENTION_MIN_DAYS: NumberText(z.number().min(1)).prefault(1),
  AUDIT_RETENTION_MAX_DAYS: NumberText(z.number().min(1)).prefault(400),
  SHUTDOWN_SECONDS: seconds(20),
});

/** Variables that `npm start` reads before a database exists. */
export const EmbeddedEnvironment = z.object({
  ...Environment.pick({
    REDIS_URL: true,
    REDIS_SENTINELS: true,
    REDIS_SENTINEL_MASTER: true,
    SECRETS_KEYS: true,
    TENANT_DATABASES: true,
    TENANT_DATABASES_URL: true,
  }).shape,
  DATABASE_URL: Environment.shape.DATABASE_URL.optional(),
  GANTRY_HOME: z.string().default('.gantry'),
  PORT: port(1).prefault(8080),
  BOARD_PORT: port(1).optional(),
  MCP_PORT: port(1).optional(),
});
