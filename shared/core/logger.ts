import { type Logger, type LoggerOptions, pino } from 'pino';

export type { Logger };

/** Names of fields and headers with secrets; headers in lower case, as Node reports them. */
const secretNames = [
  'authorization',
  'cookie',
  'set-cookie',
  'x-api-key',
  'token',
  'password',
  'secret',
  'apiKey',
  'key',
  'connectionString',
  'clientSecret',
  'accessToken',
  'refreshToken',
  'tenantDBURL',
  'secretsKeys',
  'SECRETS_KEYS',
  'OAUTH_PROVIDERS',
  'DATABASE_URL',
  'REDIS_URL',
];

/** Depth of the request headers inside the configuration that a thrown object or the cause of an error carries. */
const DEPTH = 4;

const secretPaths = secretNames.flatMap((name) =>
  Array.from({ length: DEPTH + 1 }, (_, depth) => `${Array(depth).fill('*').join('.')}["${name}"]`),
);

export interface LogConfig {
  level: 'silent' | 'fatal' | 'error' | 'warn' | 'info' | 'debug' | 'trace';
}

/** One JSON line per event on standard output, or to an open file; secret-bearing fields are replaced by name. */
export function createLogger(config: LogConfig, bindings: Record<string, unknown> = {}, fd = 1): Logger {
  const options: LoggerOptions = {
    level: config.level,
    base: bindings,
    timestamp: pino.stdTimeFunctions.isoTime,
    serializers: { err: describeError },
    formatters: { level: (level) => ({ level }) },
    redact: { paths: secretPaths, censor: '[REDACTED]' },
  };
  const destination = pino.destination({ fd, sync: true });
  // A log that cannot be written (full disk, closed pipe) must not end the process.
  destination.on('error', () => undefined);
  // Nor block it: after a fatal line pino flushes, and retries for ever what cannot be written. Each line is written at once,
  // so no flush is needed.
  Object.assign(destination, { flushSync: () => undefined });
  return pino(options, destination);
}

/** The fields of an error that are logged. Errors of drivers and HTTP clients have further ones, with connections and headers. */
function describeError(error: unknown): unknown {
  if (typeof error === 'string') return withoutPasswords(error);
  if (!(error instanceof Error)) return error;
  return {
    type: error.name,
    message: withoutPasswords(error.message),
    ...('code' in error && { code: error.code }),
    stack: error.stack && withoutPasswords(error.stack),
    ...(error.cause !== undefined && { cause: describeError(error.cause) }),
  };
}

/** Drivers put the URL that they could not reach into their messages. */
export function withoutPasswords(text: string): string {
  return text.replace(/(\w:\/\/)[^\s/?#]*@/g, '$1[REDACTED]@');
}
