import { exampleCreator, exampleIDs, exampleTimes } from '../../http/fields/example-ids.ts';

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
  versionNumber: 3,
  folderID: null,
  ...exampleCreator,
  ...exampleTimes,
};

export const exampleSchemas = {
  schemas: {
    bar: {
      widgetType: 'bar',
      label: 'Bar chart',
      category: 'chart' as const,
      shape: 'categories' as const,
      columns: ['xAxis', 'yAxis'],
      events: ['onClick', 'onMarkClick'],
      schema: { type: 'object', properties: { properties: { type: 'object', title: 'Properties' } } },
      uischema: { type: 'VerticalLayout', elements: [{ type: 'Control', scope: '#/properties/properties' }] },
      data: { properties: { showLegend: true } },
    },
  },
  message: 'Widget schemas',
};

const bindings = [
  {
    dataQueryID,
    title: 'Open orders',
    rowCount: 2,
    truncated: false,
    durationMs: 12,
    isCached: false,
    error: null,
  },
];

const chart = {
  labels: ['new', 'paid'],
  datasets: [{ label: 'Open orders', backgroundColor: '#2563eb', data: [19.9, 7.5] }],
};

export const exampleDataRequest = { widgetType: 'bar', widgetConfig, state: { region: 'EU' } };
export const exampleData = { widgetData: chart, bindings, message: 'Widget data' };
export const exampleBulkDataRequest = { widgets: [{ widgetID }], state: { region: 'EU' } };
export const exampleBulkData = {
  widgets: [{ widgetID, widgetData: chart, bindings, error: null }],
  message: 'Widget data',
};

const filePath = `widget-files/${tenantID}/${exampleIDs.fileID}`;

const storedFile = {
  fileID: exampleIDs.fileID,
  url: `/api/v1/tenants/${tenantID}/widgets/files?path=${encodeURIComponent(filePath)}`,
  filePath,
  fileName: 'logo.png',
  fileSize: 20480,
  fileType: 'image/png',
};
export const exampleFile = { ...storedFile, message: 'File uploaded' };
export const exampleUpload = { ...storedFile, createdAt: exampleTimes.createdAt };
