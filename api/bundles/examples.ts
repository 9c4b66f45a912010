import { exampleIDs } from '../http/example-ids.ts';
import { exampleWidgetCreate } from '../resources/widgets/examples.ts';

const { widgetID, dataQueryID, tenantID } = exampleIDs;

export const exampleBundle = {
  bundleVersion: 1 as const,
  generator: 'gantry',
  sourceTenant: tenantID,
  items: [
    {
      type: 'widget' as const,
      id: widgetID,
      payload: { ...exampleWidgetCreate, widgetDescription: null },
      dependencies: [{ type: 'dataQuery', id: dataQueryID, bundled: false }],
    },
  ],
};

export const exampleExport = { items: [{ type: 'widget' as const, id: widgetID }] };
