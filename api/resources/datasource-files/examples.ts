import { exampleIDs, exampleTimes } from '../../http/fields/example-ids.ts';

const { tenantID, fileID } = exampleIDs;

export const exampleFile = {
  fileID,
  url: `/api/v1/tenants/${tenantID}/datasources/files/${fileID}`,
  filePath: `tenant-files/${fileID}`,
  fileName: 'orders.csv',
  fileSize: 20480,
  fileType: 'text/csv',
  createdAt: exampleTimes.createdAt,
};
