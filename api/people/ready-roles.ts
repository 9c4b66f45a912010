import type { RolePermission } from '#shared/access/policy/permissions.ts';

export interface ReadyRole {
  roleName: string;
  roleDescription: string;
  permissions: RolePermission[];
}

/** Permissions that change nothing, on what is built in a tenant. */
const looking = [
  ...(['appPage.list', 'appPage.read', 'cronjob.list', 'cronjob.read', 'dashboard.list', 'dashboard.read'] as const),
  ...(['dataquery.list', 'dataquery.read', 'datasource.list', 'datasource.read', 'folder.list'] as const),
  ...(['listener.list', 'listener.read', 'variable.list', 'variable.read', 'widget.list', 'widget.read'] as const),
  ...(['workflow.list', 'workflow.read', 'tenant.read', 'user.list', 'user.read'] as const),
] as const satisfies RolePermission[];

const lookingAtRows = [
  ...(['database.metadata', 'database.schemaList', 'database.tableList'] as const),
  ...(['database.tableRead', 'database.rowList'] as const),
  ...(['database.triggerList', 'database.triggerRead'] as const),
] as const satisfies RolePermission[];

/** Roles that every new tenant has. They are ordinary ones, which the tenant changes and deletes as it likes. */
export const readyRoles: readonly ReadyRole[] = [
  {
    roleName: 'Viewer',
    roleDescription: 'Sees what others build, its runs and its data. Changes and starts nothing.',
    permissions: [...looking, ...lookingAtRows, 'widget.execute', 'widgetLibrary.list'],
  },
  {
    roleName: 'Operator of runs',
    roleDescription:
      'Starts, cancels and repeats runs, answers their questions, and redrives events. Sees what others build, and changes none of it.',
    permissions: [...looking, 'workflow.execute', 'listener.execute', 'widget.execute'],
  },
  {
    roleName: 'Builder',
    roleDescription:
      'Builds and runs workflows, queries, datasources, triggers, tables, variables and pages. Manages no members, roles, keys or settings.',
    permissions: [
      ...(['workflow.*', 'dataquery.*', 'datasource.*', 'cronjob.*', 'listener.*', 'variable.*', 'folder.*'] as const),
      ...([
        'database.*',
        'widget.*',
        'dashboard.*',
        'appPage.*',
        'widgetLibrary.list',
        'widgetLibrary.install',
      ] as const),
      ...(['bundle.preview', 'bundle.execute', 'bundle.export', 'ai.execute', 'ai.read'] as const),
      ...(['tenant.read', 'user.list', 'user.read'] as const),
    ],
  },
  {
    roleName: 'Admin',
    roleDescription: 'May do everything in this tenant: also manage members, roles, keys and settings, and delete it.',
    permissions: ['*'],
  },
];
