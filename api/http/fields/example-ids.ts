/** Ids that the examples of the OpenAPI document share, so that they refer to one another. */
export const exampleIDs = {
  folderID: '01990d3e-5c00-7a10-8000-000000000021',
  tenantID: '01990d3e-5c00-7a10-8000-000000000001',
  userID: '01990d3e-5c00-7a10-8000-000000000002',
  roleID: '01990d3e-5c00-7a10-8000-000000000003',
  apiKeyID: '01990d3e-5c00-7a10-8000-000000000004',
  datasourceID: '01990d3e-5c00-7a10-8000-000000000005',
  fileID: '01990d3e-5c00-7a10-8000-000000000006',
  dataQueryID: '01990d3e-5c00-7a10-8000-000000000007',
  workflowID: '01990d3e-5c00-7a10-8000-000000000008',
  versionID: '01990d3e-5c00-7a10-8000-00000000000e',
  variableID: '01990d3e-5c00-7a10-8000-00000000000f',
  instanceID: '01990d3e-5c00-7a10-8000-000000000009',
  collectionRequestID: '01990d3e-5c00-7a10-8000-00000000000a',
  oauthConnectionID: '01990d3e-5c00-7a10-8000-00000000000b',
  operatorID: '01990d3e-5c00-7a10-8000-00000000000c',
  batchID: '01990d3e-5c00-7a10-8000-000000000010',
  cronJobID: '01990d3e-5c00-7a10-8000-000000000011',
  cronJobHistoryID: '01990d3e-5c00-7a10-8000-000000000012',
  backfillID: '01990d3e-5c00-7a10-8000-000000000013',
  listenerID: '01990d3e-5c00-7a10-8000-000000000018',
  actionID: '01990d3e-5c00-7a10-8000-000000000019',
  deliveryID: '01990d3e-5c00-7a10-8000-000000000014',
  eventID: '01990d3e-5c00-7a10-8000-00000000001f',
  dashboardID: '01990d3e-5c00-7a10-8000-000000000031',
  dashboardVersionID: '01990d3e-5c00-7a10-8000-000000000032',
  appPageID: '01990d3e-5c00-7a10-8000-000000000033',
  appPageVersionID: '01990d3e-5c00-7a10-8000-000000000034',
  widgetID: '01990d3e-5c00-7a10-8000-000000000030',
  queryRunID: '01990d3e-5c00-7a10-8000-00000000000d',
  importID: '01990d3e-5c00-7a10-8000-000000000061',
  importJobID: '01990d3e-5c00-7a10-8000-000000000062',
  libraryEntryID: '01990d3e-5c00-7a10-8000-00000000003f',
  toolCallID: '01990d3e-5c00-7a10-8000-000000000063',
} as const;

/** Example of `createdAt` and `updatedAt`. */
export const exampleTimes = { createdAt: '2026-03-02T09:30:00.000Z', updatedAt: '2026-03-05T14:05:12.480Z' } as const;

export const exampleCreator = { creatorID: exampleIDs.userID, createdByApiKeyID: null } as const;
