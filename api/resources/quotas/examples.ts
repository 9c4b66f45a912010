import { exampleIDs } from '../../http/fields/example-ids.ts';

const usual = { max: 1_000, used: 12, isDefault: true };

export const exampleQuotas = {
  workflows: { max: 2_000, used: 1_400, isDefault: false },
  versionBytes: { max: 2_147_483_648, used: 48_300, isDefault: true },
  queries: usual,
  datasources: usual,
  widgets: usual,
  libraryEntries: { max: 100, used: 2, isDefault: true },
  listeners: usual,
  listenerConnections: { max: 100, used: 3, isDefault: true },
  apiKeys: usual,
  oauthConnections: usual,
  variables: { max: 200, used: 12, isDefault: true },
  folders: { max: 1_000, used: 8, isDefault: true },
  roles: usual,
  cronJobs: usual,
  dashboards: usual,
  appPages: usual,
  assetVersionBytes: { max: 1_073_741_824, used: 96_400, isDefault: true },
  files: usual,
  fileBytes: { max: 1_073_741_824, used: 52_428_800, isDefault: true },
  resultPages: { max: 10_000, used: 0, isDefault: true },
  resultBytes: { max: 2_147_483_648, used: 0, isDefault: true },
  events: { max: 10_000, used: 3, isDefault: true },
  eventBytes: { max: 67_108_864, used: 120, isDefault: true },
  listenerEvents: { max: 100_000, used: 2, isDefault: true },
  listenerBufferBytes: { max: 1_073_741_824, used: 20_480, isDefault: true },
  listenerEventBytes: { max: 5_368_709_120, used: 1_048_576, isDefault: true },
  runs: { max: 100_000, used: 38, isDefault: true },
  aiTokensPerDay: { max: 2_000_000, used: 12_400, isDefault: true },
  aiTokensPerMonth: { max: 30_000_000, used: 84_100, isDefault: true },
  aiCalls: { max: 8, used: 1, isDefault: true },
  aiChatBytes: { max: 268_435_456, used: 48_200, isDefault: true },
  aiNodeBytes: { max: 268_435_456, used: 1_400, isDefault: true },
  runBytes: { max: 2_147_483_648, used: 9_120, isDefault: true },
};

export const exampleListedTenant = {
  tenantID: exampleIDs.tenantID,
  tenantTitle: 'Acme',
  creatorID: exampleIDs.userID,
  createdAt: '2026-11-22T10:00:00.000Z',
  isDeleting: false,
};
