import type { z } from 'zod';
import type { OAuthConnection as OAuthConnectionEntity } from '#shared/entities/tables/oauth-connection.ts';
import type { OAuthConnection } from './schemas.ts';

export function presentConnection(connection: OAuthConnectionEntity): z.input<typeof OAuthConnection> {
  const { id, tenantID, provider, scopes, status, creatorID } = connection;
  const accountEmail = connection.accountEmail ?? null;
  const accountSubject = connection.accountSubject ?? null;
  const account = accountEmail ?? accountSubject;
  return {
    id,
    oauthConnectionID: id,
    tenantID,
    name: account === null ? provider : `${provider} - ${account}`,
    provider,
    accountSubject,
    accountEmail,
    scopes,
    status,
    lastError: connection.lastError ?? null,
    expiresAt: connection.expiresAt?.toISOString() ?? null,
    refreshedAt: connection.refreshedAt?.toISOString() ?? null,
    creatorID,
    createdByApiKeyID: connection.createdByApiKeyID ?? null,
    createdAt: connection.createdAt.toISOString(),
    updatedAt: connection.updatedAt.toISOString(),
  };
}
