import type { Permission, Resource } from '#shared/access/policy/permissions.ts';
import type { BundledType } from './bundle-types.ts';

/** Properties that all assets of a type share. */
interface Kind {
  resource: Resource;
  /** Completes "the … is not here". */
  noun: string;
  /** The permission to read such an asset into a bundle, or to see it in a plan. */
  read: Permission;
  /** The field of a payload that has the title of the asset. */
  title: string;
}

export const kinds: Readonly<Record<BundledType, Kind>> = {
  folder: { resource: 'folder', noun: 'folder', read: 'folder.list', title: 'folderTitle' },
  variable: { resource: 'variable', noun: 'variable', read: 'variable.read', title: 'name' },
  datasource: { resource: 'datasource', noun: 'datasource', read: 'datasource.read', title: 'datasourceTitle' },
  dataQuery: { resource: 'dataquery', noun: 'data query', read: 'dataquery.read', title: 'dataQueryTitle' },
  workflow: { resource: 'workflow', noun: 'workflow', read: 'workflow.read', title: 'title' },
  widget: { resource: 'widget', noun: 'widget', read: 'widget.read', title: 'widgetTitle' },
  listener: { resource: 'listener', noun: 'listener', read: 'listener.read', title: 'listenerTitle' },
  appPage: { resource: 'appPage', noun: 'app page', read: 'appPage.read', title: 'appPageTitle' },
  dashboard: { resource: 'dashboard', noun: 'dashboard', read: 'dashboard.read', title: 'dashboardTitle' },
  cronJob: { resource: 'cronjob', noun: 'cron job', read: 'cronjob.read', title: 'cronJobTitle' },
  role: { resource: 'role', noun: 'role', read: 'role.read', title: 'roleName' },
};
