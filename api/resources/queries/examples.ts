import { exampleCreator, exampleIDs, exampleTimes } from '../../http/fields/example-ids.ts';

const { tenantID, datasourceID, dataQueryID, queryRunID, userID } = exampleIDs;

const dataQueryOptions = {
  queryType: 'query',
  query: 'select id, total from orders where state = {{inputs.state}}',
};
const target = { datasourceID, datasourceType: 'postgresql' };

export const exampleDataQueryCreate = { dataQueryTitle: 'Open orders', dataQueryOptions, ...target, runOnLoad: true };
export const exampleDataQueryUpdate = { dataQueryTitle: 'Orders of one state', runOnLoad: false };
export const exampleInputs = { inputValues: { state: 'open' } };
export const exampleDataQueryTest = { dataQuery: { dataQueryOptions, ...target }, ...exampleInputs };

export const exampleDataQuery = {
  id: dataQueryID,
  dataQueryID,
  tenantID,
  dataQueryTitle: 'Open orders',
  dataQueryDescription: null,
  dataQueryOptions,
  ...target,
  runOnLoad: true,
  isDisabled: false,
  isOfferedAsTool: false,
  folderID: null,
  ...exampleCreator,
  ...exampleTimes,
};

export const exampleRun = {
  queryRunID,
  dataQueryID,
  ...target,
  caller: { type: 'user', id: userID, userID, origin: 'direct' },
  startedAt: exampleTimes.updatedAt,
  durationMs: 12,
  rowCount: 2,
  isCached: false,
  error: null,
};

export const exampleGenerate = { aiPrompt: 'Open orders of one state, the largest first', datasourceID };
export const exampleGenerated = {
  dataQuery: { dataQueryTitle: 'Open orders', dataQueryOptions, ...target },
  databaseQuery: dataQueryOptions.query,
  assumptions: ['An order is open while its state is not `done`.'],
  message: 'Data query generated; it is not saved',
};
