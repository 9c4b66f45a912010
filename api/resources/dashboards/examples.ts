import { exampleCreator, exampleIDs, exampleTimes } from '../../http/fields/example-ids.ts';

const { tenantID, dashboardID, dashboardVersionID, widgetID } = exampleIDs;
const key = `widget_${widgetID}_1`;
const dashboardConfig = { widgets: [key], layouts: { lg: [{ i: key, x: 0, y: 0, w: 6, h: 4 }] } };

export const exampleDashboardCreate = { dashboardTitle: 'Orders of today', dashboardConfig };
export const exampleDashboardUpdate = { dashboardTitle: 'Orders of the week', changeNote: 'Shows a week' };

export const exampleDashboard = {
  id: dashboardID,
  dashboardID,
  tenantID,
  dashboardTitle: 'Orders of today',
  dashboardDescription: null,
  dashboardConfig,
  versionNumber: 3,
  folderID: null,
  ...exampleCreator,
  ...exampleTimes,
};

export const exampleVersionSummary = {
  dashboardVersionID,
  dashboardID,
  tenantID,
  versionNumber: 3,
  dashboardTitle: 'Orders of today',
  dashboardDescription: null,
  changeNote: null,
  ...exampleCreator,
  createdAt: exampleTimes.updatedAt,
};

export const exampleVersion = { ...exampleVersionSummary, dashboardConfig };
