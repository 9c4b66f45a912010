import { type ClientMetadata, errors, type KoaContextWithOIDC } from 'oidc-provider';
import { scopes } from '../auth/app-scopes.ts';
import { APP_TOKEN_SECONDS, resourceOf, tenantOfResource } from './apps.ts';

/** Rules for apps at the provider: what they may register as, and for what they get tokens. */

const MAX_NAME = 100;
const MAX_REDIRECTS = 10;
const MAX_ADDRESS = 1_000;
/** Fields of a registration. The rest is left out: some of it would have this service fetch addresses of strangers. */
const registered: readonly string[] = [
  'client_id',
  'client_id_issued_at',
  'client_name',
  'redirect_uris',
  'grant_types',
];
const grantTypes: readonly string[] = ['authorization_code', 'refresh_token'];
/** Schemes on which a browser or a machine acts by itself, besides those that the provider refuses. */
const refusedSchemes: readonly string[] = ['filesystem', 'ftp', 'mailto', 'sms', 'tel', 'view-source', 'ws', 'wss'];

/**
 * Apps are public clients of native applications: an address of any port on the machine of the user, a scheme of an app, or https.
 * `context` is given while an app registers, and not when a stored one is read.
 */
export function checkRegistration(context: unknown, _name: string, _value: unknown, metadata: ClientMetadata): void {
  if (!context) return;
  for (const name of Object.keys(metadata)) if (!registered.includes(name)) delete metadata[name];
  const { client_name: name = '', redirect_uris: addresses, grant_types: asked } = metadata;
  if (typeof name !== 'string' || name.length > MAX_NAME)
    refuse(`client_name: expected at most ${MAX_NAME} characters`);
  if (!Array.isArray(addresses) || addresses.length === 0 || addresses.length > MAX_REDIRECTS)
    refuse(`redirect_uris: expected 1 to ${MAX_REDIRECTS} addresses`, errors.InvalidRedirectUri);
  for (const address of addresses) requireAddress(address);
  Object.assign(metadata, {
    application_type: 'native',
    token_endpoint_auth_method: 'none',
    response_types: ['code'],
    grant_types: Array.isArray(asked) ? grantTypes.filter((type) => asked.includes(type)) : ['authorization_code'],
  });
}

/** The provider refuses http of other machines, fragments and scripts. */
function requireAddress(address: unknown): void {
  const url = typeof address === 'string' && address.length <= MAX_ADDRESS ? URL.parse(address) : null;
  if (url === null || url.username || url.password || refusedSchemes.includes(url.protocol.slice(0, -1)))
    refuse(
      'redirect_uris: expected https, http of this machine alone (127.0.0.1), or the scheme of an app',
      errors.InvalidRedirectUri,
    );
}

function refuse(message: string, Kind: new (message: string) => Error = errors.InvalidClientMetadata): never {
  throw new Kind(message);
}

/** Tokens of apps are good for the MCP service of one tenant, and those of the console name none. */
export function resourceIndicators(mcpURL: string | undefined, consoleID: string) {
  const target = (message: string) => new errors.InvalidTarget(message);
  return {
    enabled: true,
    defaultResource(
      _context: unknown,
      { clientId }: { clientId: string },
      several?: readonly string[],
    ): string | undefined {
      if (several) throw target('resource: expected one address');
      if (clientId === consoleID) return undefined;
      throw target('resource: expected the address of the MCP service of a tenant');
    },
    getResourceServerInfo(_context: unknown, resource: string, { clientId }: { clientId: string }) {
      const tenantID = clientId === consoleID ? undefined : tenantOfResource(mcpURL, resource);
      if (mcpURL === undefined || tenantID === undefined)
        throw target('resource: expected the address of the MCP service of a tenant');
      return {
        scope: scopes.join(' '),
        audience: resourceOf(mcpURL, tenantID),
        accessTokenTTL: APP_TOKEN_SECONDS,
        // One that can be looked up, so that it ends when its user ends it.
        accessTokenFormat: 'opaque' as const,
      };
    },
    useGrantedResource: () => true,
  };
}

/** Whether the user has agreed that the app stays connected. */
export function staysConnected({ oidc }: KoaContextWithOIDC): boolean {
  return oidc.entities.Grant?.getOIDCScope().split(' ').includes('offline_access') ?? false;
}
