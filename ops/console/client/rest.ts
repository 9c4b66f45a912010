import createClient, { type Middleware } from 'openapi-fetch';
import type { paths } from '../../client/rest.ts';
import { currentToken, endSession } from './session.ts';
import type { Issue } from './types.ts';

/** An answer that is not a success, with the words of the API. */
export class APIError extends Error {
  readonly code: string;
  readonly status: number;
  /** Faults of the request by their paths in it. */
  readonly issues: readonly Issue[];
  /** The version of the asset that was changed meanwhile. */
  readonly versionNumber: number | undefined;
  /** The `details` of the error, with what the other fields do not say. */
  readonly details: object;

  constructor({ status, code, message, details }: Refusal) {
    super(message);
    this.name = 'APIError';
    this.status = status;
    this.code = code;
    this.issues = details?.issues ?? [];
    this.versionNumber = details?.versionNumber;
    this.details = details ?? {};
  }
}

/** Whether the same request would be refused again; a rate limit passes. */
export function isRefusal(error: unknown): error is APIError {
  return error instanceof APIError && error.status < 500 && error.status !== 429;
}

interface Refusal {
  status: number;
  code: string;
  message: string;
  details?: { issues?: readonly Issue[]; versionNumber?: number };
}

const signed: Middleware = {
  async onRequest({ request }) {
    const token = await currentToken();
    if (token) request.headers.set('authorization', `Bearer ${token}`);
    return request;
  },
  async onResponse({ response }) {
    if (response.ok) return;
    const answer = await response
      .clone()
      .json()
      .catch(() => ({}));
    const { code = 'UNAVAILABLE', message = `The server answered ${response.status}`, details } = answer.error ?? {};
    if (response.status === 401) endSession(message);
    throw new APIError({ status: response.status, code, message, details });
  },
};

/** The API of this server, typed by its OpenAPI document. A call rejects unless it succeeds. */
export const rest = createClient<paths>({ baseUrl: location.origin });
rest.use(signed);

/** The body of an answer; `rest` has thrown for the others. */
export async function body<T>(call: Promise<{ data?: T }>): Promise<T> {
  const { data } = await call;
  if (data === undefined) throw new Error('The server answered with an empty body');
  return data;
}
