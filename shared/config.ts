import { availableParallelism } from 'node:os';
import { z } from 'zod';

const seconds = (fallback: number) => z.coerce.number().nonnegative().default(fallback);
const list = z
  .string()
  .default('')
  .transform((text) =>
    text
      .split(',')
      .map((item) => item.trim())
      .filter(Boolean),
  );

/** Every variable Gantry reads, and nothing else reads the environment. */
export const Environment = z.object({
  NODE_ENV: z.enum(['development', 'test', 'production']).default('development'),
  DATABASE_URL: z.url({ protocol: /^postgres(ql)?$/, error: 'must be a postgres:// URL' }),
  DATABASE_POOL: z.coerce.number().int().min(2).max(200).default(10),
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
  PORT: z.coerce.number().int().min(0).max(65535).default(8080),
  BOARD_PORT: z.coerce.number().int().min(0).max(65535).default(8081),
  CORS_ORIGINS: list,
  BODY_LIMIT_BYTES: z.coerce
    .number()
    .int()
    .positive()
    .default(5 * 1024 * 1024),
  AUTH_ISSUER: z.url().optional(),
  AUTH_AUDIENCE: z.string().optional(),
  AUTH_JWKS_URL: z.url().optional(),
  /** File holding the development issuer's signing key; set by the embedded mode only. */
  DEV_ISSUER_KEY_FILE: z.string().optional(),
  /** For tests only: `Bearer test:<email>` signs anybody in. Refused in production, loud in the log. */
  AUTH_TEST_BYPASS: z.stringbool().default(false),
  /** Days an API key is good for when its creator does not say. */
  API_KEY_DEFAULT_DAYS: z.coerce.number().positive().max(36_500).default(90),
  /** Requests a minute for one API key, over all API processes; 0 switches the limit off. */
  API_KEY_REQUESTS_PER_MINUTE: z.coerce.number().int().min(0).default(1000),
  LOG_LEVEL: z.enum(['silent', 'fatal', 'error', 'warn', 'info', 'debug', 'trace']).default('info'),
  /** Seconds; RUNNING runs without a sign of life for longer are FAILED when the service starts. 0 resumes them instead. */
  STALE_WORKFLOW_WINDOW: seconds(300),
  /** Nodes running at once in one worker process. */
  WORKER_SLOTS: z.coerce.number().int().min(1).max(10_000).default(50),
  WORKER_SESSION_SECONDS: z.coerce.number().min(1).max(600).default(30),
  SANDBOX_PROCESSES: z.coerce.number().int().min(1).max(64).default(availableParallelism()),
  NODE_OUTPUT_MAX_BYTES: z.coerce
    .number()
    .int()
    .positive()
    .default(5 * 1024 * 1024),
  RUN_OUTPUT_MAX_BYTES: z.coerce
    .number()
    .int()
    .positive()
    .default(32 * 1024 * 1024),
  RUN_RETENTION_DAYS: z.coerce.number().positive().default(30),
  SHUTDOWN_SECONDS: seconds(20),
});

/** What `npm start` reads before there is a database to speak of. */
export const EmbeddedEnvironment = z.object({
  GANTRY_HOME: z.string().default('.gantry'),
  PORT: z.coerce.number().int().min(1).max(65535).default(8080),
  BOARD_PORT: z.coerce.number().int().min(1).max(65535).optional(),
});

export function readEmbeddedConfig(env: Record<string, string | undefined> = process.env) {
  const { GANTRY_HOME, PORT, BOARD_PORT } = parse(EmbeddedEnvironment, env);
  return { home: GANTRY_HOME, port: PORT, boardPort: BOARD_PORT ?? PORT + 1 };
}

export interface BackplaneConfig {
  prefix: string;
  /** Present: queues, sockets and messages go over Redis. Absent: over Postgres. */
  redis?: { url: string; sentinels: { host: string; port: number }[]; sentinelMaster: string };
  databaseURL: string;
}

export type Config = ReturnType<typeof readConfig>;
export type WorkerConfig = Config['worker'];

/** The environment, parsed once: nested, named, with units; combinations that make no sense are refused here. */
export function readConfig(env: Record<string, string | undefined> = process.env) {
  const e = parse(Environment, env);
  const production = e.NODE_ENV === 'production';
  if (production && e.DEV_ISSUER_KEY_FILE)
    throw new Error('Configuration: DEV_ISSUER_KEY_FILE must not be set in production');
  if (production && e.AUTH_TEST_BYPASS)
    throw new Error('Configuration: AUTH_TEST_BYPASS must not be set in production');
  if (e.AUTH_ISSUER && e.DEV_ISSUER_KEY_FILE)
    throw new Error('Configuration: DEV_ISSUER_KEY_FILE and AUTH_ISSUER exclude each other');
  if (e.AUTH_ISSUER && !e.AUTH_AUDIENCE) throw new Error('Configuration: AUTH_AUDIENCE is required with AUTH_ISSUER');
  if (production && !e.AUTH_ISSUER) throw new Error('Configuration: AUTH_ISSUER is required in production');

  const backplane: BackplaneConfig = {
    prefix: e.BACKPLANE_PREFIX,
    databaseURL: e.DATABASE_URL,
    ...(e.REDIS_URL && {
      redis: {
        url: e.REDIS_URL,
        sentinels: e.REDIS_SENTINELS.map((address) => {
          const [host = '', port = '26379'] = address.split(':');
          return { host, port: Number(port) };
        }),
        sentinelMaster: e.REDIS_SENTINEL_MASTER,
      },
    }),
  };
  return {
    production,
    log: { level: e.LOG_LEVEL },
    db: { url: e.DATABASE_URL, poolSize: e.DATABASE_POOL },
    backplane,
    http: {
      host: e.HOST,
      port: e.PORT,
      corsOrigins: e.CORS_ORIGINS,
      bodyLimitBytes: e.BODY_LIMIT_BYTES,
      stacks: !production,
    },
    board: { host: e.HOST, port: e.BOARD_PORT },
    auth: {
      issuer: e.AUTH_ISSUER,
      audience: e.AUTH_AUDIENCE,
      jwksURL: e.AUTH_JWKS_URL,
      devIssuerKeyFile: e.DEV_ISSUER_KEY_FILE,
      testBypass: e.AUTH_TEST_BYPASS,
    },
    apiKeys: { defaultDays: e.API_KEY_DEFAULT_DAYS, requestsPerMinute: e.API_KEY_REQUESTS_PER_MINUTE },
    worker: {
      slots: e.WORKER_SLOTS,
      sessionMs: e.WORKER_SESSION_SECONDS * 1000,
      staleAfterMs: e.STALE_WORKFLOW_WINDOW * 1000,
      nodeOutputMaxBytes: e.NODE_OUTPUT_MAX_BYTES,
      runOutputMaxBytes: e.RUN_OUTPUT_MAX_BYTES,
      runRetentionMs: e.RUN_RETENTION_DAYS * 86_400_000,
    },
    sandbox: { processes: e.SANDBOX_PROCESSES, maxOutputBytes: e.NODE_OUTPUT_MAX_BYTES },
    shutdownMs: e.SHUTDOWN_SECONDS * 1000,
  };
}

/** A variable set to nothing counts as not set. */
function parse<S extends z.ZodType>(schema: S, env: Record<string, string | undefined>): z.output<S> {
  const parsed = schema.safeParse(Object.fromEntries(Object.entries(env).filter(([, value]) => value !== '')));
  if (parsed.success) return parsed.data;
  throw new Error(
    `Configuration: ${parsed.error.issues.map(({ path, message }) => `${path.join('.')}: ${message}`).join('; ')}`,
  );
}
