import { exampleIDs, exampleTimes } from '../../http/fields/example-ids.ts';

const { tenantID, userID } = exampleIDs;

export const exampleUser = {
  id: userID,
  userID,
  email: 'ada@example.com',
  firstName: 'Ada',
  lastName: 'Lovelace',
  isDisabled: false,
  lastSeen: '2026-03-05T14:05:00.000Z',
  ...exampleTimes,
};

export const exampleUserConfig = {
  tenantID,
  userID,
  config: { theme: 'dark', pinned: ['orders'] },
  updatedAt: exampleTimes.updatedAt,
};

export const exampleSignIn = {
  issuer: 'https://login.example.com/',
  clientID: 'gantry',
  isBuiltIn: false,
  mcpURL: 'https://mcp.example.com',
  hasDevelopmentIssuer: false,
};
