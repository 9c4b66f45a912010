import type { JsonObject } from '#shared/core/json.ts';
import type { ApiRoute } from '../../context/routes.ts';
import { createAppPage } from '../../resources/app-pages/create.ts';
import { appPageRoutes } from '../../resources/app-pages/routes.ts';
import { updateAppPage } from '../../resources/app-pages/update.ts';
import { createCronJob } from '../../resources/cron-jobs/create.ts';
import { cronJobRoutes } from '../../resources/cron-jobs/routes.ts';
import { updateCronJob } from '../../resources/cron-jobs/update.ts';
import { createDashboard } from '../../resources/dashboards/create.ts';
import { dashboardRoutes } from '../../resources/dashboards/routes.ts';
import { updateDashboard } from '../../resources/dashboards/update.ts';
import { createDatasource } from '../../resources/datasources/create.ts';
import { deleteDatasource } from '../../resources/datasources/delete.ts';
import { updateDatasource } from '../../resources/datasources/update.ts';
import { createFolder } from '../../resources/folders/create.ts';
import { deleteFolder } from '../../resources/folders/delete.ts';
import { updateFolder } from '../../resources/folders/update.ts';
import { createListener } from '../../resources/listeners/create.ts';
import { listenerRoutes } from '../../resources/listeners/routes.ts';
import { updateListener } from '../../resources/listeners/update.ts';
import { createDataQuery } from '../../resources/queries/create.ts';
import { dataQueryRoutes } from '../../resources/queries/routes.ts';
import { updateDataQuery } from '../../resources/queries/update.ts';
import { createRole } from '../../resources/roles/create.ts';
import { deleteRole } from '../../resources/roles/delete.ts';
import { updateRole } from '../../resources/roles/update.ts';
import { createVariable } from '../../resources/variables/create.ts';
import { deleteVariable } from '../../resources/variables/delete.ts';
import { updateVariable } from '../../resources/variables/update.ts';
import { createWidget } from '../../resources/widgets/create.ts';
import { widgetRoutes } from '../../resources/widgets/routes.ts';
import { updateWidget } from '../../resources/widgets/update.ts';
import { createWorkflow } from '../../resources/workflows/create.ts';
import { deleteWorkflow } from '../../resources/workflows/delete.ts';
import { updateWorkflow } from '../../resources/workflows/update.ts';
import type { BundledType } from '../assets/bundle-types.ts';

/** The routes by which an asset is saved by hand: an import goes the same way, with the same checks. */
export interface Saver {
  create: ApiRoute;
  update: ApiRoute;
  remove: ApiRoute;
  /** The parameter of the path that names the asset. */
  param: string;
  /** Fields of a payload that the body of `create` does not have, and `update` sets afterwards. */
  notOnCreate?: readonly string[];
  /** Fields that an update leaves as they are, or that something else writes. */
  notOnUpdate?: readonly string[];
  /** Fields that replace those of a payload while assets that it needs are not saved yet: drafts are not checked. */
  incomplete?: JsonObject;
}

export const savers: Readonly<Record<BundledType, Saver>> = {
  folder: {
    ...{ create: createFolder, update: updateFolder, remove: deleteFolder, param: 'folderID' },
    notOnUpdate: ['entityType'],
  },
  variable: {
    ...{ create: createVariable, update: updateVariable, remove: deleteVariable, param: 'variableID' },
    notOnUpdate: ['name', 'isSecret'],
  },
  datasource: { create: createDatasource, update: updateDatasource, remove: deleteDatasource, param: 'datasourceID' },
  dataQuery: {
    ...{ create: createDataQuery, update: updateDataQuery, param: 'dataQueryID' },
    remove: named(dataQueryRoutes, 'deleteQuery'),
  },
  workflow: {
    ...{ create: createWorkflow, update: updateWorkflow, remove: deleteWorkflow, param: 'workflowID' },
    notOnCreate: ['isDisabled'],
    incomplete: { draft: true },
  },
  widget: {
    ...{ create: createWidget, update: updateWidget, param: 'widgetID' },
    remove: named(widgetRoutes, 'deleteWidget'),
  },
  listener: {
    ...{ create: createListener, update: updateListener, param: 'listenerID' },
    remove: named(listenerRoutes, 'deleteListener'),
    notOnUpdate: ['status', 'listenerType', 'actions'],
  },
  appPage: {
    ...{ create: createAppPage, update: updateAppPage, param: 'appPageID' },
    remove: named(appPageRoutes, 'deleteAppPage'),
    incomplete: { isDraft: true },
  },
  dashboard: {
    ...{ create: createDashboard, update: updateDashboard, param: 'dashboardID' },
    remove: named(dashboardRoutes, 'deleteDashboard'),
  },
  cronJob: {
    ...{ create: createCronJob, update: updateCronJob, param: 'cronJobID' },
    remove: named(cronJobRoutes, 'deleteCronJob'),
    notOnUpdate: ['cronJobEnabled'],
  },
  role: { create: createRole, update: updateRole, remove: deleteRole, param: 'roleID' },
};

function named(routes: readonly ApiRoute[], name: string): ApiRoute {
  const route = routes.find((one) => one.name === name);
  if (!route) throw new Error(`There is no route ${name}`);
  return route;
}
