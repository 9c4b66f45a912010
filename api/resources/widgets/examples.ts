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
