import { hash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { runInNewContext } from 'node:vm';
import { gzip } from 'node:zlib';

export interface Bundle {
  /** Contains a hash of the bundle, so that browsers may cache it for a year. */
  name: string;
  gzipped: Buffer;
}

/**
 * Scalar's page as one script for browsers. Only `@scalar/fastify-api-reference` is published with the bundle and without the
 * 300 MB of packages that the bundle is made of; its module holds the script as a string. The module itself, a plugin of
 * Fastify, is not loaded.
 */
export async function readBundle(): Promise<Bundle> {
  const module = await readFile(fileURLToPath(import.meta.resolve('@scalar/fastify-api-reference')), 'utf8');
  const literal = LITERAL.exec(module)?.[1];
  if (literal === undefined) throw new Error('@scalar/fastify-api-reference does not hold its script where it used to');
  // A literal of JavaScript, with escapes that JSON does not know.
  const script: string = runInNewContext(literal);
  return { name: `scalar.${hash('sha256', script).slice(0, 12)}.js`, gzipped: await promisify(gzip)(script) };
}

const LITERAL = /^var standalone_default = (".*");$/m;
