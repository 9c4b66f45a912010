import { z } from 'zod';

const Discovery = z.object({
  issuer: z.string(),
  jwks_uri: z.url(),
  token_endpoint: z.url().optional().catch(undefined),
});

/** Reads an OpenID Connect provider's description of itself. Rejects a document of another issuer. */
export async function discover(issuer: string, timeoutMs: number): Promise<z.output<typeof Discovery>> {
  const response = await fetch(`${issuer.replace(/\/$/, '')}/.well-known/openid-configuration`, {
    signal: AbortSignal.timeout(timeoutMs),
  });
  if (!response.ok) throw new Error(`The discovery document of ${issuer} was answered with ${response.status}`);
  const discovery = Discovery.parse(await response.json());
  if (discovery.issuer !== issuer)
    throw new Error(`The discovery document of ${issuer} is that of ${discovery.issuer}: AUTH_ISSUER must be the same`);
  return discovery;
}
