import type { Schemas } from '../client/types.ts';

type Permission = Schemas['Permission'];

/** Names of the types that permissions are about, in the order in which a role shows them. */
export const resourceWords: Readonly<Record<string, string>> = {
  workflow: 'Workflows and their runs',
  dataquery: 'Queries',
  datasource: 'Datasources',
  database: 'Database',
  variable: 'Variables',
  cronjob: 'Cron jobs',
  listener: 'Listeners',
  widget: 'Widgets',
  dashboard: 'Dashboards',
  appPage: 'App pages',
  widgetLibrary: 'Widget library',
  folder: 'Folders',
  bundle: 'Bundles',
  ai: 'Language model',
  user: 'Members',
  role: 'Roles',
  permission: 'Permissions',
  apikey: 'API keys',
  audit: 'Audit',
  tenant: 'The tenant and its settings',
};

/** Each permission as an action of a person. */
export const permissionWords: Readonly<Record<Permission, string>> = {
  'workflow.list': 'See the list',
  'workflow.read': 'Open them, and see their runs',
  'workflow.execute': 'Run, cancel and repeat',
  'workflow.create': 'Create',
  'workflow.update': 'Change, publish and pause',
  'workflow.delete': 'Delete',
  'workflow.test': 'Test before publishing',
  'workflow.export': 'Export',
  'dataquery.list': 'See the list',
  'dataquery.read': 'Open',
  'dataquery.execute': 'Run',
  'dataquery.create': 'Create',
  'dataquery.update': 'Change',
  'dataquery.delete': 'Delete',
  'dataquery.test': 'Test before saving',
  'dataquery.export': 'Export',
  'datasource.list': 'See the list',
  'datasource.read': 'Open, without secrets, and build queries on them',
  'datasource.create': 'Create',
  'datasource.update': 'Change',
  'datasource.delete': 'Delete',
  'datasource.test': 'Test the connection',
  'database.metadata': 'See how the database is built',
  'database.execute': 'Run any SQL',
  'database.schemaList': 'See the list of schemas',
  'database.schemaRead': 'Open schemas',
  'database.schemaCreate': 'Create schemas',
  'database.schemaUpdate': 'Change schemas',
  'database.schemaDelete': 'Delete schemas',
  'database.tableList': 'See the list of tables',
  'database.tableRead': 'Open tables, and export their rows',
  'database.tableCreate': 'Create tables',
  'database.tableUpdate': 'Change tables',
  'database.tableDelete': 'Delete tables',
  'database.rowList': 'See rows',
  'database.rowRead': 'Open single rows',
  'database.rowCreate': 'Add rows',
  'database.rowUpdate': 'Change rows',
  'database.rowDelete': 'Delete rows',
  'database.triggerList': 'See the list of triggers',
  'database.triggerRead': 'Open triggers',
  'database.triggerCreate': 'Create triggers',
  'database.triggerUpdate': 'Change triggers',
  'database.triggerDelete': 'Delete triggers',
  'variable.list': 'See the list',
  'variable.read': 'See values that are no secrets',
  'variable.use': 'Use in workflows',
  'variable.create': 'Create',
  'variable.update': 'Change',
  'variable.delete': 'Delete',
  'cronjob.list': 'See the list',
  'cronjob.read': 'Open, and see what became of each time',
  'cronjob.create': 'Create, for what they may run',
  'cronjob.update': 'Change, pause and run now',
  'cronjob.delete': 'Delete',
  'listener.list': 'See the list',
  'listener.read': 'Open, and see events',
  'listener.execute': 'Redrive events',
  'listener.create': 'Create',
  'listener.update': 'Change, start and stop',
  'listener.delete': 'Delete',
  'listener.export': 'Export',
  'widget.list': 'See the list',
  'widget.read': 'Open',
  'widget.execute': 'See their data',
  'widget.create': 'Create',
  'widget.update': 'Change',
  'widget.delete': 'Delete',
  'widget.export': 'Export',
  'dashboard.list': 'See the list',
  'dashboard.read': 'Open',
  'dashboard.create': 'Create',
  'dashboard.update': 'Change',
  'dashboard.delete': 'Delete',
  'appPage.list': 'See the list',
  'appPage.read': 'Open and use',
  'appPage.create': 'Create',
  'appPage.update': 'Change',
  'appPage.delete': 'Delete',
  'appPage.export': 'Export',
  'widgetLibrary.list': 'See the library',
  'widgetLibrary.publish': 'Publish to all tenants',
  'widgetLibrary.unpublish': 'Take out of the library',
  'widgetLibrary.install': 'Install from it',
  'folder.list': 'See folders',
  'folder.create': 'Create',
  'folder.update': 'Change, and move things into them',
  'folder.delete': 'Delete',
  'bundle.preview': 'Compare with what is here',
  'bundle.execute': 'Import and roll back',
  'bundle.export': 'Export',
  'ai.execute': 'Use it, in chats and to write queries and workflows',
  'ai.chat': 'Chat',
  'ai.read': 'See how much was used',
  'ai.delete': 'Delete chats',
  'ai.approve': 'Decide on calls of tools that wait for a person',
  'user.list': 'See the list',
  'user.read': 'Open',
  'user.create': 'Add and invite',
  'user.update': 'Change their roles',
  'user.delete': 'Remove',
  'role.list': 'See the list',
  'role.read': 'Open',
  'role.create': 'Create',
  'role.update': 'Change',
  'role.delete': 'Delete',
  'permission.list': 'See all permissions, to choose some for a role',
  'apikey.list': 'See the list',
  'apikey.read': 'Open',
  'apikey.create': 'Create',
  'apikey.update': 'Change, and enable again',
  'apikey.delete': 'Revoke and delete',
  'audit.list': 'See who did what',
  'tenant.read': 'See settings and limits',
  'tenant.update': 'Change settings and pause everything',
  'tenant.delete': 'Delete the tenant',
};

/**
 * Permissions of the contract without an operation, which roles do not offer. What `ai.chat` and `ai.delete` would allow needs `ai.execute`.
 */
export const withoutEffect: readonly string[] = [
  'ai.chat',
  'ai.delete',
  'database.rowRead',
  'database.schemaRead',
  'database.schemaUpdate',
  'database.triggerUpdate',
];

export function resourceOf(permission: string): string {
  return permission.slice(0, permission.indexOf('.'));
}

export function inWords(permission: string): string {
  if (permission === '*') return 'Everything';
  if (permission.endsWith('.*')) return 'Everything, also what is added later';
  return Object.hasOwn(permissionWords, permission) ? permissionWords[permission as Permission] : permission;
}

/** For lists in which nothing else says what a permission is about. */
export function fullWords(permission: string): string {
  const about = resourceWords[resourceOf(permission)] ?? resourceOf(permission);
  return permission === '*' ? 'Everything' : `${about}: ${lowered(inWords(permission))}`;
}

export function lowered(text: string): string {
  return text.charAt(0).toLowerCase() + text.slice(1);
}
