import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { exportJWK, generateKeyPair, type JWTPayload, SignJWT } from 'jose';

/** An OpenID Connect provider on loopback: a discovery document and keys that can be rotated, withdrawn and cut off. */
export interface IdentityProvider extends AsyncDisposable {
  readonly issuer: string;
  /** How often its keys were fetched. */
  readonly fetches: number;
  /** Signs with the newest key; `claims` win over a good token's own. */
  token(claims?: JWTPayload): Promise<string>;
  /** A new key; the ones before it are no longer published. */
  rotate(): Promise<void>;
  setAway(isAway: boolean): void;
  /** Instead of the real discovery document. */
  setDiscovery(document: object): void;
  publicKeyText(): Promise<string>;
}

export async function startIdentityProvider({ audience }: { audience: string }): Promise<IdentityProvider> {
  let n = 0;
  let fetches = 0;
  let isAway = false;
  let discovery: object | undefined;
  let key = await makeKey();

  async function makeKey() {
    n += 1;
    return { kid: `key-${n}`, ...(await generateKeyPair('RS256', { extractable: true })) };
  }

  const server = createServer(async (request, response) => {
    if (isAway) return void request.socket.destroy();
    const isKeys = request.url === '/keys';
    if (isKeys) fetches += 1;
    const jwk = { ...(await exportJWK(key.publicKey)), kid: key.kid, alg: 'RS256', use: 'sig' };
    const answer = isKeys ? { keys: [jwk] } : (discovery ?? { issuer, jwks_uri: `${issuer}/keys` });
    response.setHeader('content-type', 'application/json').end(JSON.stringify(answer));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;

  return {
    issuer,
    get fetches() {
      return fetches;
    },
    token(claims = {}) {
      const now = Math.floor(Date.now() / 1_000);
      return new SignJWT({
        iss: issuer,
        aud: audience,
        sub: 'ada',
        email: 'ada@example.com',
        iat: now,
        exp: now + 600,
        ...claims,
      })
        .setProtectedHeader({ alg: 'RS256', kid: key.kid })
        .sign(key.privateKey);
    },
    async rotate() {
      key = await makeKey();
    },
    setAway(away) {
      isAway = away;
    },
    setDiscovery(document) {
      discovery = document;
    },
    publicKeyText: async () => JSON.stringify(await exportJWK(key.publicKey)),
    async [Symbol.asyncDispose]() {
      server.close();
      server.closeAllConnections();
    },
  };
}
