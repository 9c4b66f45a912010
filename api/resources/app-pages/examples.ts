import { exampleCreator, exampleIDs, exampleTimes } from '../../http/fields/example-ids.ts';

const { tenantID, appPageID, appPageVersionID, dataQueryID, widgetID } = exampleIDs;
const widgetKey = `widget_${widgetID}_1`;

const appPageConfig = {
  layoutVersion: 2,
  layout: { id: 'root', type: 'column', children: [{ id: 'a', type: 'widget', widgetKey, span: 12 }] },
  widgets: [widgetKey],
  dataSources: [
    {
      alias: 'orders',
      type: 'query' as const,
      queryID: dataQueryID,
      inputValues: { region: 'north', day: '{{variables.day}}' },
      triggerMode: 'reactive' as const,
      refreshOn: ['variables.day'],
      refetchInterval: null,
    },
  ],
  variables: [
    { key: 'day', type: 'string' as const, defaultValue: '2026-03-02', description: 'The day that is shown' },
  ],
};

export const exampleAppPageCreate = { appPageTitle: 'Orders', appPageConfig };
export const exampleAppPageUpdate = { appPageTitle: 'Orders of the north', changeNote: 'Says which orders' };

export const exampleAppPage = {
  id: appPageID,
  appPageID,
  tenantID,
  appPageTitle: 'Orders',
  appPageDescription: null,
  appPageConfig,
  isDraft: false,
  versionNumber: 3,
  folderID: null,
  ...exampleCreator,
  ...exampleTimes,
};

export const exampleVersionSummary = {
  appPageVersionID,
  appPageID,
  tenantID,
  versionNumber: 3,
  appPageTitle: 'Orders',
  appPageDescription: null,
  changeNote: null,
  ...exampleCreator,
  createdAt: exampleTimes.updatedAt,
};

export const exampleVersion = { ...exampleVersionSummary, appPageConfig };
