import { exampleCreator, exampleIDs, exampleTimes } from '../../http/fields/example-ids.ts';

const { tenantID, datasourceID, dataQueryID, workflowID } = exampleIDs;

function options(password: string) {
  const connectionDetails = { host: 'db.example.com', port: 5432, database: 'shop', user: 'reader', password };
  return { connectionOption: 'connectionDetails', connectionDetails };
}

export const exampleDatasourceCreate = {
  datasourceTitle: 'Shop database',
  datasourceType: 'postgresql',
  datasourceOptions: options('correct horse battery staple'),
  datasourceTags: ['shop'],
};

export const exampleDatasourceUpdate = { datasourceTitle: 'Shop database (read only)' };

export const exampleDatasourceTest = {
  datasourceType: 'postgresql',
  datasourceOptions: exampleDatasourceCreate.datasourceOptions,
};

export const exampleDatasource = {
  id: datasourceID,
  datasourceID,
  tenantID,
  datasourceTitle: 'Shop database',
  datasourceDescription: null,
  datasourceType: 'postgresql',
  datasourceOptions: options('********'),
  unreadableSecrets: [],
  datasourceTags: ['shop'],
  connectionStatus: 'connected',
  testedAt: '2026-03-05T14:05:12.480Z',
  folderID: null,
  ...exampleCreator,
  ...exampleTimes,
};

export const exampleItems = [
  { name: 'orders', kind: 'table', isContainer: true },
  { name: 'customers', kind: 'table', isContainer: true },
];

export const exampleTables = {
  tables: [{ path: ['public', 'orders'], columns: [{ name: 'total', type: 'numeric' }] }],
  isWhole: true,
};

export const exampleUsage = {
  dataQueries: [{ dataQueryID, dataQueryTitle: 'Open orders' }],
  workflows: [{ workflowID, workflowTitle: 'Approve an order' }],
  others: { dataQueries: 0, workflows: 1 },
};
