import { validateHeaderName, validateHeaderValue } from 'node:http';
import { invalidField } from '#shared/core/schema/issues.ts';

/** Headers of the connection, or of the length of a message: a tenant that sets them could smuggle a second request. */
const reserved = /^(?:host|connection|content-length|transfer-encoding|keep-alive|upgrade|expect|te|trailer|proxy-.*)$/;

/** Throws for an invalid name or value; does not repeat the value, which may be a secret. */
export function checkHeader(name: string, value: string): void {
  try {
    validateHeaderName(name);
  } catch (cause) {
    throw invalidField('headers', `${JSON.stringify(name.slice(0, 100))} is not a name of a header`, {
      cause,
    });
  }
  if (reserved.test(name.toLowerCase())) throw invalidField('headers', `${name} is set by the connection itself`);
  try {
    validateHeaderValue(name, value);
  } catch (cause) {
    throw invalidField('headers', `the value of ${name} has characters no header may have`, {
      cause,
    });
  }
}

/** Merges lists of headers: later ones win; names become lower case. */
export function headersOf(...lists: readonly (readonly { key: string; value: unknown }[])[]): Record<string, string> {
  const headers: Record<string, string> = {};
  for (const { key, value } of lists.flat()) {
    if (key === '' || value === null || value === undefined) continue;
    const text = typeof value === 'object' ? JSON.stringify(value) : String(value);
    checkHeader(key, text);
    headers[key.toLowerCase()] = text;
  }
  return headers;
}
