import { exampleIDs, exampleTimes } from '../http/fields/example-ids.ts';
import { exampleWidgetCreate } from '../resources/widgets/examples.ts';

const { widgetID, dataQueryID, tenantID, userID, importID } = exampleIDs;

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

export const exampleImport = { bundle: exampleBundle };
export const exampleToken = '5f1d7a84db00d2fce00b31a7fc73224f5f1d7a84db00d2fce00b31a7fc73224f';

export const exampleRecord = {
  id: importID,
  importID,
  createdCount: 12,
  updatedCount: 3,
  rolledBackAt: null,
  rolledBackBy: null,
  creatorID: userID,
  createdByApiKeyID: null,
  ...exampleTimes,
};

export const exampleChange = { path: ['widgetTitle'], before: 'Orders', after: 'Sales' };

export const examplePreviewItem = {
  type: 'widget' as const,
  id: widgetID,
  title: 'Sales',
  action: 'update' as const,
  assetID: widgetID,
  warnings: [],
  missingDependencies: [],
  missingSecrets: [],
  unfollowed: [],
  tables: [],
};

export const exampleUnfollowed = {
  type: 'workflow' as const,
  path: ['workflowNodes', 1, 'data', 'childWorkflowID'],
  template: '{{ctx.input.workflowID}}',
  variable: null,
};

export const examplePlannedItem = { ...examplePreviewItem, changes: [exampleChange] };
