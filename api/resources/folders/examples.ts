import { exampleCreator, exampleIDs, exampleTimes } from '../../http/fields/example-ids.ts';

export const exampleFolderCreate = { entityType: 'workflow' as const, folderTitle: 'Orders' };
export const exampleFolderUpdate = { folderTitle: 'Orders of the shop', parentFolderID: null };
export const exampleMove = {
  entityType: 'workflow' as const,
  entityIDs: [exampleIDs.workflowID],
  folderID: exampleIDs.folderID,
};

export const exampleFolder = {
  id: exampleIDs.folderID,
  tenantID: exampleIDs.tenantID,
  entityType: 'workflow' as const,
  folderTitle: 'Orders',
  parentFolderID: null,
  ...exampleCreator,
  ...exampleTimes,
};
