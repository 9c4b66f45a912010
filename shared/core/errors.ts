import { z } from 'zod';

/** All error codes that clients and runs can see: the HTTP status, and whether a retry may succeed. */
const table = {
  VALIDATION_ERROR: { status: 400, retry: false },
  DB_ERROR: { status: 400, retry: false },
  INVALID_REQUEST: { status: 400, retry: false },
  USER_AUTH_TOKEN_NOT_FOUND: { status: 401, retry: false },
  USER_AUTH_TOKEN_EXPIRED: { status: 401, retry: false },
  INVALID_API_KEY: { status: 401, retry: false },
  INVALID_LOGIN: { status: 401, retry: false },
  PERMISSION_DENIED: { status: 403, retry: false },
  NOT_FOUND: { status: 404, retry: false },
  SCHEMA_NOT_FOUND: { status: 404, retry: false },
  CONFLICT: { status: 409, retry: false },
  PRECONDITION_FAILED: { status: 412, retry: false },
  PAYLOAD_TOO_LARGE: { status: 413, retry: false },
  RATE_LIMITED: { status: 429, retry: false },
  QUOTA_EXCEEDED: { status: 429, retry: false },
  UNAVAILABLE: { status: 503, retry: true },
  NODE_FAILED: { status: 500, retry: true },
  NODE_TIMEOUT: { status: 500, retry: true },
  RUN_TIMEOUT: { status: 500, retry: false },
  OUTPUT_TOO_LARGE: { status: 500, retry: false },
  INVALID_OUTPUT: { status: 500, retry: false },
  WORKER_LOST: { status: 500, retry: false },
  UPSTREAM_FAILED: { status: 502, retry: true },
  UPSTREAM_TIMEOUT: { status: 504, retry: true },
  INTERNAL_ERROR: { status: 500, retry: false },
} as const;

export type ErrorCode = keyof typeof table;

export function isErrorCode(text: unknown): text is ErrorCode {
  return typeof text === 'string' && Object.hasOwn(table, text);
}

export interface ErrorOptions {
  cause?: unknown;
  /** Overrides the table, e.g. 404 for an unknown path. */
  status?: number;
  /** Overrides the table: whether the same attempt may succeed later. */
  retry?: boolean;
  /** Seconds, sent as `Retry-After`. */
  retryAfter?: number;
  /** Further data for the client, in addition to the message. */
  details?: unknown;
  /** For metrics: which limit or check refused this, of a fixed set of words. */
  reason?: string | undefined;
}

/** Longest message, in characters: servers and code of tenants write any length, and messages are stored with runs and sent to clients. */
const MAX_TEXT = 10_000;

/** The one error class. The message is for the client, the cause for the log. */
export class AppError extends Error {
  readonly code: ErrorCode;
  readonly status: number;
  readonly retry: boolean;
  readonly retryAfter: number | undefined;
  readonly details: unknown;
  readonly reason: string | undefined;

  constructor(code: ErrorCode, message: string, options: ErrorOptions = {}) {
    super(shortened(message), { cause: options.cause });
    this.name = 'AppError';
    this.code = code;
    this.status = options.status ?? table[code].status;
    this.retry = options.retry ?? table[code].retry;
    this.retryAfter = options.retryAfter;
    this.details = options.details;
    this.reason = options.reason;
  }
}

function shortened(text: string): string {
  if (text.length <= MAX_TEXT) return text;
  return `${text.slice(0, MAX_TEXT - 40).toWellFormed()}… (${text.length} characters)`;
}

/** Converts anything thrown. An unknown error becomes INTERNAL_ERROR without its message. */
export function toAppError(error: unknown): AppError {
  if (error instanceof AppError) return error;
  if (isConnectionError(error))
    return new AppError('UNAVAILABLE', 'The service is temporarily unavailable', { cause: error, retryAfter: 2 });
  return new AppError('INTERNAL_ERROR', 'Internal error', { cause: error });
}

/** An error as a worker sends it to the process that waits for its reply. */
export const WireError = z.object({
  code: z.enum(Object.keys(table) as [ErrorCode, ...ErrorCode[]]),
  message: z.string(),
  status: z.int(),
  retry: z.boolean(),
  retryAfter: z.number().optional(),
  details: z.json().optional(),
  reason: z.string().optional(),
});

/** The fields that a client may see; the cause stays in the log of the process that threw the error. */
export function toWireError(error: AppError): z.input<typeof WireError> {
  const { code, message, status, retry, retryAfter, details, reason } = error;
  const written = JSON.stringify({ code, message, status, retry, retryAfter, details, reason }, (_key, value) =>
    typeof value === 'string' ? shortened(value) : value,
  );
  return JSON.parse(written);
}

export function reviveError({ code, message, ...options }: z.output<typeof WireError>): AppError {
  return new AppError(code, message, options as ErrorOptions);
}

/** `CODE: message`, readable on the board. */
export function toFailedReason(error: unknown): string {
  const known = toAppError(error);
  return `${known.code}: ${known.message}`;
}

const connectionCodes = new Set([
  'ECONNREFUSED',
  'ECONNRESET',
  'EPIPE',
  'ETIMEDOUT',
  'ENOTFOUND',
  '57P01',
  '57P02',
  '57P03',
  '53300',
  '08006',
  '08003',
  '08001',
]);

/** Whether Postgres or the backplane cannot be reached, as opposed to having refused a statement. */
export function isConnectionError(error: unknown): boolean {
  for (let at = error, depth = 0; at instanceof Error && depth < 5; at = at.cause, depth += 1) {
    if ('code' in at && typeof at.code === 'string' && connectionCodes.has(at.code)) return true;
    if (
      /Connection terminated|is not queryable|timeout exceeded when trying to connect|Query read timeout|Command timed out|Connection is closed/.test(
        at.message,
      )
    )
      return true;
  }
  return false;
}
