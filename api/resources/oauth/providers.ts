import { AppError } from '#shared/core/errors.ts';
import type { Config } from '#shared/process/config.ts';
import type { OAuthProvider } from '#shared/process/oauth-providers.ts';

type OAuthConfig = Config['oauth'];

export function getProvider({ providers }: OAuthConfig, name: string): OAuthProvider {
  const provider = providers.find((candidate) => candidate.name === name);
  if (provider) return provider;
  const there = providers.length > 0 ? `there are ${providers.map((known) => known.name).join(', ')}` : 'there is none';
  throw new AppError('NOT_FOUND', `There is no OAuth provider "${name}" here: ${there}`);
}

/** The redirect address. It is registered at the provider, so no request can change it. */
export function redirectURIOf({ publicURL }: OAuthConfig, { name }: OAuthProvider): string {
  return `${publicURL}/api/v1/oauth/${name}/callback`;
}
