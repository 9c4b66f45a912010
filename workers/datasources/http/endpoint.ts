import type { AppError } from '#shared/core/errors.ts';
import type { Json } from '#shared/core/json.ts';
import { invalidField } from '#shared/core/schema/issues.ts';
import { asText } from '#shared/workflow/templates/expressions.ts';

/** Builds the URL of an endpoint, which must be below the base URL. */
export function endpointURL(base: URL, endpoint: string): URL {
  const cut = endpoint.indexOf('?');
  const path = cut < 0 ? endpoint : endpoint.slice(0, cut);
  if (/^[a-z][a-z0-9+.-]*:/i.test(path) || path.startsWith('//'))
    throw invalidEndpoint('must be a path below the base URL');
  if (/[\\#]|\p{Cc}/u.test(endpoint)) throw invalidEndpoint('must not contain a backslash, a # or control characters');
  if (path.split('/').some(isStep)) throw invalidEndpoint('must not contain "." or ".." as a segment');

  const url = new URL(base);
  const root = base.pathname.replace(/\/$/, '');
  // An empty endpoint keeps the end of the base URL, with or without a slash.
  url.pathname = path === '' ? base.pathname : `${root}/${path.replace(/^\//, '')}`;
  if (cut >= 0)
    for (const [name, value] of new URLSearchParams(endpoint.slice(cut + 1))) url.searchParams.append(name, value);
  if (!isBelow(url, base)) throw invalidEndpoint('must be a path below the base URL');
  return url;
}

export function isBelow(url: URL, base: URL): boolean {
  const root = base.pathname.replace(/\/$/, '');
  return url.origin === base.origin && (url.pathname === base.pathname || url.pathname.startsWith(`${root}/`));
}

/** Whether a segment is `.` or `..`, also after decoding: some servers decode a segment before they look for `..`. */
function isStep(segment: string): boolean {
  return decoded(segment)
    .split(/[/\\]/)
    .some((part) => part === '.' || part === '..');
}

function decoded(segment: string): string {
  try {
    return decodeURIComponent(segment);
  } catch {
    throw invalidEndpoint('has a % that does not begin a percent-encoded character');
  }
}

/** Adds parameters to a URL. A list repeats the parameter; null adds none. */
export function addParams(url: URL, params: readonly { key: string; value: Json }[]): void {
  for (const { key, value } of params) {
    for (const item of Array.isArray(value) ? value : [value])
      if (item !== null && item !== undefined) url.searchParams.append(key, asText(item));
  }
}

function invalidEndpoint(why: string): AppError {
  return invalidField('apiEndpoint', why);
}
