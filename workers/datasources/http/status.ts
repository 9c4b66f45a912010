import { STATUS_CODES } from 'node:http';
import { excerptText } from '#shared/core/charset.ts';
import { AppError } from '#shared/core/errors.ts';
import { MASK } from '#shared/core/schema/secret.ts';
import { type HTTPResponse, whereOf } from '../../outbound/fetch.ts';
import { declaredIn } from './body.ts';

const EXCERPT = 1_000;
const transient: ReadonlySet<number> = new Set([408, 425, 429, 500, 502, 503, 504]);

/** Makes an error of a response, with the beginning of its body. Secrets that were sent are masked in it. */
export function statusError(response: HTTPResponse, secrets: readonly string[] = []): AppError {
  const { status, url } = response;
  const words = STATUS_CODES[status];
  return new AppError('UPSTREAM_FAILED', `${whereOf(url)} answered ${status}${words ? ` ${words}` : ''}`, {
    retry: transient.has(status),
    ...withRetryAfter(retryAfterOf(response)),
    details: { status, body: excerptOf(response, secrets) },
  });
}

function excerptOf({ body, headers }: HTTPResponse, secrets: readonly string[]): string {
  // Masks more than the excerpt, so that a secret at its end is found whole.
  const text = excerptText(body.subarray(0, 20 * EXCERPT), declaredIn(headers)).replaceAll('\0', '');
  return maskIn(text, secrets).slice(0, EXCERPT);
}

function withRetryAfter(ms: number | undefined): { retryAfter?: number } {
  return ms === undefined ? {} : { retryAfter: Math.ceil(ms / 1000) };
}

/** Reads Retry-After in milliseconds; 0 for a date in the past. */
export function retryAfterOf({ headers }: HTTPResponse): number | undefined {
  const text = headers['retry-after']?.trim();
  if (!text) return undefined;
  if (/^\d{1,9}$/.test(text)) return Number(text) * 1000;
  const moment = Date.parse(text);
  return Number.isNaN(moment) ? undefined : Math.max(0, moment - Date.now());
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
