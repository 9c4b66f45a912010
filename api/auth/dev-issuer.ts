import { createHash, randomUUID } from 'node:crypto';
import { link, mkdir, readFile, unlink, writeFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import {
  calculateJwkThumbprint,
  createLocalJWKSet,
  exportJWK,
  generateKeyPair,
  importJWK,
  type JWK,
  SignJWT,
} from 'jose';
import type { TrustedIssuer } from './trusted-issuer.ts';

/** An identity provider for development: it issues a token for any e-mail address. */
export interface DevIssuer extends TrustedIssuer {
  jwks: { keys: JWK[] };
  issue(email: string): Promise<{ token: string; expiresAt: Date }>;
}

interface DevIssuerOptions {
  /** File of the signing key, made when missing; with the same key, tokens survive a restart. */
  keyFile: string;
  production: boolean;
  issuer: string | undefined;
}

/** The same for every port and every key, because users are stored by issuer. */
const issuer = 'urn:gantry:development';
const audience = 'gantry';
const alg = 'ES256';
const validMs = 3_600_000;

export async function createDevIssuer(options: DevIssuerOptions): Promise<DevIssuer> {
  if (options.production || options.issuer)
    throw new Error('The development issuer must not exist in production or beside AUTH_ISSUER');
  const stored = await readOrMakeKey(options.keyFile);
  const { d: _secret, ...open } = stored;
  const kid = await calculateJwkThumbprint(open);
  const jwks = { keys: [{ ...open, kid, alg, use: 'sig' }] };
  const key = await importJWK(stored, alg);

  return {
    issuer,
    audience,
    jwks,
    keys: createLocalJWKSet(jwks),
    async issue(email) {
      const expiresAt = new Date(Math.ceil((Date.now() + validMs) / 1_000) * 1_000);
      const token = await new SignJWT({ email, email_verified: true })
        .setProtectedHeader({ alg, kid, typ: 'JWT' })
        .setIssuer(issuer)
        .setAudience(audience)
        .setSubject(subjectOf(email))
        .setIssuedAt()
        .setExpirationTime(expiresAt)
        .sign(key);
      return { token, expiresAt };
    },
  };
}

/** The same subject for an address in any capitals. */
function subjectOf(email: string): string {
  return createHash('sha256').update(email.toLowerCase()).digest('hex').slice(0, 32);
}

async function readOrMakeKey(file: string): Promise<JWK> {
  const stored = await readFile(file, 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return null;
    throw error;
  });
  if (stored === null) {
    await makeKey(file);
    return readOrMakeKey(file);
  }
  try {
    return JSON.parse(stored);
  } catch (cause) {
    throw new Error(`${file} does not hold the development issuer's key; remove it and another is made`, { cause });
  }
}

/** Linked into place as a whole: two processes that start at once end up with the same key. */
async function makeKey(file: string): Promise<void> {
  const { privateKey } = await generateKeyPair(alg, { extractable: true });
  const draft = `${file}.${randomUUID()}`;
  await mkdir(dirname(file), { recursive: true });
  await writeFile(draft, JSON.stringify(await exportJWK(privateKey)), { mode: 0o600, flag: 'wx' });
  try {
    await link(draft, file);
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'EEXIST')) throw error;
  } finally {
    await unlink(draft);
  }
}
