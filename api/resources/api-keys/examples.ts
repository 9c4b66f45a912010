import { exampleCreator, exampleIDs, exampleTimes } from '../../http/fields/example-ids.ts';

const settings = {
  apiKeyName: 'Nightly import',
  apiKeyDescription: 'Starts the import at two in the morning',
  apiKeyPermissions: ['workflow.read', 'workflow.execute'],
  roleIDs: [exampleIDs.roleID],
  apiKeyExpiry: '2099-12-31T00:00:00.000Z',
};

export const exampleApiKeyCreate = settings;
export const exampleApiKeyUpdate = { apiKeyName: 'Import at noon', isDisabled: false };

export const exampleApiKey = {
  id: exampleIDs.apiKeyID,
  tenantID: exampleIDs.tenantID,
  ...settings,
  apiKeyPrefix: 'b3c1f0a7',
  folderID: null,
  isDisabled: false,
  lastUsedAt: '2026-03-05T02:00:03.120Z',
  ...exampleCreator,
  ...exampleTimes,
};

export const exampleNewApiKey = {
  ...exampleApiKey,
  lastUsedAt: null,
  key: 'b3c1f0a7d2e94c5688f1a0b3c4d5e6f708192a3b4c5d6e7f8091a2b3c4d5e6f7',
};
