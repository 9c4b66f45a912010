const tenantID = '01976e1c-0000-7000-8000-000000000003';
const folderID = '01976e1c-0000-7000-8000-00000000000a';

export const exampleAuditLog = {
  auditLogID: '01976e1c-0000-7000-8000-0000000000a1',
  tenantID,
  type: 'API_REQUEST' as const,
  subType: 'PATCH',
  userID: '01976e1c-0000-7000-8000-000000000001',
  apiKeyID: null,
  success: true,
  outcome: 'success' as const,
  error: null,
  path: `/api/v1/tenants/${tenantID}/folders/${folderID}`,
  asset: { type: 'folder', id: folderID },
  changes: [
    {
      assetType: 'folder',
      assetID: folderID,
      action: 'update',
      changes: { folderTitle: { from: 'Orders', to: 'Open orders' } },
    },
  ],
  changeCount: 1,
  metadata: {
    request: {
      operation: 'updateFolder',
      method: 'PATCH',
      url: `/api/v1/tenants/${tenantID}/folders/${folderID}`,
      ip: '203.0.113.7',
      requestID: '01976e1c-0000-7000-8000-0000000000b1',
      headers: { 'user-agent': 'Mozilla/5.0' },
      body: { folderTitle: 'Open orders' },
    },
    response: { statusCode: 200, body: { folder: { folderTitle: 'Open orders' } } },
    durationMs: 14,
    authType: 'token' as const,
    apiKeyID: null,
    apiKeyTitle: null,
  },
  createdAt: '2026-11-23T05:00:00.000Z',
};

export const exampleSeal = {
  number: 12,
  rowCount: 340,
  newestAt: '2026-11-23T05:00:00.000Z',
  hash: '9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08',
  createdAt: '2026-11-23T05:00:12.000Z',
};
