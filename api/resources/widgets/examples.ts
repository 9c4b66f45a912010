import { exampleCreator, exampleIDs, exampleTimes } from '../../http/example-ids.ts';

const { tenantID, widgetID, dataQueryID } = exampleIDs;

const widgetConfig = {
  dataQueries: [
    {
      dataQueryID,
      title: 'Open orders',
      datasetFields: { xAxis: 'state', yAxis: 'total' },
      parameters: { backgroundColor: '#2563eb' },
    },
  ],
};

export const exampleWidgetCreate = { widgetTitle: 'Orders', widgetType: 'bar', widgetConfig, refreshInterval: 60 };
export const exampleWidgetUpdate = { widgetTitle: 'Orders by state', refreshInterval: 0 };

export const exampleWidget = {
  id: widgetID,
  widgetID,
  tenantID,
  widgetTitle: 'Orders',
  widgetDescription: null,
  widgetType: 'bar',
  widgetConfig,
  refreshInterval: 60,
  folderID: null,
  ...exampleCreator,
  ...exampleTimes,
};
