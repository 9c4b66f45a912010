import { exampleIDs, exampleTimes } from '../../../http/fields/example-ids.ts';
import { exampleWidgetCreate } from '../examples.ts';

const { widgetID, dataQueryID, tenantID, userID, libraryEntryID } = exampleIDs;

export const exampleBundle = {
  bundleVersion: 1 as const,
  items: [
    {
      type: 'widget' as const,
      id: widgetID,
      payload: exampleWidgetCreate,
      dependencies: [{ type: 'dataQuery', id: dataQueryID, bundled: false }],
    },
  ],
};

export const exampleEntry = {
  id: libraryEntryID,
  libraryEntryID,
  widgetTitle: 'Orders',
  widgetDescription: null,
  widgetType: 'bar',
  isOwn: true,
  sourceTenantID: tenantID,
  publishedByUserID: userID,
  ...exampleTimes,
};

const warning = `The data query ${dataQueryID} does not exist here: bind another`;

export const examplePreview = {
  valid: true,
  summary: { createCount: 1, warningCount: 1, missingDependencyCount: 1 },
  items: [
    {
      type: 'widget' as const,
      id: widgetID,
      title: 'Orders',
      action: 'create' as const,
      warnings: [warning],
      missingDependencies: [{ type: 'dataquery', id: dataQueryID }],
    },
  ],
};

export const exampleInstallation = {
  results: [{ type: 'widget' as const, originalID: widgetID, newID: exampleIDs.fileID }],
  skipped: [],
  warnings: [warning],
  message: 'Widget installed',
};
