import { exampleCreator, exampleIDs, exampleTimes } from '../../http/fields/example-ids.ts';

const { tenantID, oauthConnectionID } = exampleIDs;

export const exampleConnection = {
  id: oauthConnectionID,
  oauthConnectionID,
  tenantID,
  name: 'google (ada@example.com)',
  provider: 'google',
  accountSubject: '110169484474386276334',
  accountEmail: 'ada@example.com',
  scopes: ['openid', 'email', 'https://www.googleapis.com/auth/spreadsheets.readonly'],
  status: 'connected',
  lastError: null,
  expiresAt: '2026-03-05T15:05:12.000Z',
  refreshedAt: exampleTimes.updatedAt,
  ...exampleCreator,
  ...exampleTimes,
};
