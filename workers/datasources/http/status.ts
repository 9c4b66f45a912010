import { STATUS_CODES } from 'node:http';
import { excerptText } from '#shared/core/charset.ts';
import { AppError } from '#shared/core/errors.ts';
import { MASK } from '#shared/core/schema/secret.ts';
import { type HTTPResponse, whereOf } from '../../outbound/fetch.ts';
import { readRetryAfter } from '../../outbound/retry-after.ts';
import { declaredIn } from './body.ts';

/** A longer wait is left to the caller: the error says how long it is. */
export const MAX_WAIT_MS = 60_000;
const EXCERPT = 1_000;
const transient: ReadonlySet<number> = new Set([408, 425, 429, 500, 502, 503, 504]);

/** Makes an error of a response, with the beginning of its body. Secrets that were sent are masked in it. */
export function statusError(response: HTTPResponse, secrets: readonly string[] = []): AppError {
  const { status, url } = response;
  const words = STATUS_CODES[status];
  const wait = retryAfterOf(response);
  const seconds = wait === undefined ? undefined : Math.ceil(wait / 1_000);
  const asks = wait !== undefined && wait > MAX_WAIT_MS ? ` and asks to wait ${seconds} s` : '';
  return new AppError('UPSTREAM_FAILED', `${whereOf(url)} answered ${status}${words ? ` ${words}` : ''}${asks}`, {
    retry: transient.has(status),
    ...(seconds !== undefined && { retryAfter: seconds }),
    details: {
      status,
      body: excerptOf(response, secrets),
      ...(seconds !== undefined && { retryAfterSeconds: seconds }),
    },
  });
}

function excerptOf({ body, headers }: HTTPResponse, secrets: readonly string[]): string {
  // Masks more than the excerpt, so that a secret at its end is found whole.
  const text = excerptText(body.subarray(0, 20 * EXCERPT), declaredIn(headers)).replaceAll('\0', '');
  return maskIn(text, secrets).slice(0, EXCERPT);
}

/** Milliseconds for which the server asks to wait. */
export function retryAfterOf({ headers }: HTTPResponse): number | undefined {
  return readRetryAfter(headers['retry-after']);
}

/** Masks the secrets that were sent in a text from a server. */
export function maskIn(text: string, secrets: readonly string[]): string {
  return maskForms(text, formsOf(secrets));
}

/** The texts in which secrets may be repeated, the longest first: one may be a part of another. */
export function formsOf(secrets: readonly string[]): string[] {
  const forms = secrets.flatMap((secret) => [...nestedInJSON(secret), ...inURL(secret)]);
  return [...new Set(forms)].filter(({ length }) => length >= 4).sort((a, b) => b.length - a.length);
}

/** The forms of a secret in a URL: encoded in a path, in a query, and in the query or body of a form. */
function inURL(secret: string): string[] {
  const inPath = encodeURIComponent(secret);
  return [inPath, inPath.replaceAll("'", '%27'), new URLSearchParams({ '': secret }).toString().slice(1)];
}

/** A secret as it is, as a string in JSON, and in JSON that is itself a string in JSON, as servers repeat what they were sent. */
function nestedInJSON(secret: string): string[] {
  const forms = [secret];
  for (let level = 1; level <= 3; level += 1) forms.push(JSON.stringify(forms.at(-1)).slice(1, -1));
  return forms;
}

export function maskForms(text: string, forms: readonly string[]): string {
  let masked = text;
  for (const form of forms) masked = masked.replaceAll(form, MASK);
  return masked;
}
