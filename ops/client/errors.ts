/** A refusal of the service, or a missing response. `code` is for programs and keeps its meaning; `message` is for people. */
export class GantryError extends Error {
  readonly code: string;
  /** The status of the response; 0 if there was none. */
  readonly status: number;
  /** For VALIDATION_ERROR: `issues` with the path of each. */
  readonly details: unknown;
  /** The id by which the operators of the service find the request in their logs. */
  readonly requestID: string | undefined;
  /** Seconds after which the same request may succeed. */
  readonly retryAfter: number | undefined;

  constructor(code: string, message: string, given: GantryErrorOptions = {}) {
    super(message, { cause: given.cause });
    this.name = 'GantryError';
    this.code = code;
    this.status = given.status ?? 0;
    this.details = given.details;
    this.requestID = given.requestID;
    this.retryAfter = given.retryAfter;
  }
}

export interface GantryErrorOptions {
  status?: number;
  details?: unknown;
  requestID?: string | undefined;
  retryAfter?: number | undefined;
  cause?: unknown;
}

/** The error of an answer that is no success. What is not in our form comes from a proxy, and has the status as its code. */
export function errorOf(response: Response, body: unknown): GantryError {
  const { code, message, details } = failureIn(body);
  const requestID = response.headers.get('x-request-id') ?? undefined;
  const given = { status: response.status, details, requestID, retryAfter: retryAfterOf(response) };
  return new GantryError(code ?? `HTTP_${response.status}`, message ?? `The answer is ${response.status}`, given);
}

export function retryAfterOf({ headers }: Response): number | undefined {
  const seconds = Number(headers.get('retry-after') ?? Number.NaN);
  return Number.isFinite(seconds) && seconds >= 0 ? seconds : undefined;
}

function failureIn(body: unknown): { code?: string; message?: string; details?: unknown } {
  if (typeof body !== 'object' || body === null || !('error' in body)) return {};
  const { error } = body;
  return typeof error === 'object' && error !== null ? error : {};
}
