import { bundleRoutes } from '../bundles/routes.ts';
import type { ApiContext } from '../context/context.ts';
import { serviceGroup } from '../http/openapi/parts.ts';
import type { RouteGroup } from '../http/route/route.ts';
import { accountRoutes } from '../resources/account/routes.ts';
import { accountingRoutes, operatorAccountingRoutes } from '../resources/accounting/routes.ts';
import { aiChatRoutes } from '../resources/ai-chat/routes.ts';
import { aiConfigRoutes } from '../resources/ai-config/routes.ts';
import { apiKeyRoutes } from '../resources/api-keys/routes.ts';
import { appPageRoutes } from '../resources/app-pages/routes.ts';
import { auditRoutes } from '../resources/audit/routes.ts';
import { listCollectionRequests } from '../resources/collection-requests/list.ts';
import { collectionRequestRoutes } from '../resources/collection-requests/routes.ts';
import { cronJobRoutes } from '../resources/cron-jobs/routes.ts';
import { dashboardRoutes } from '../resources/dashboards/routes.ts';
import { databaseRoutes } from '../resources/database/routes.ts';
import { datasourceFileRoutes } from '../resources/datasource-files/routes.ts';
import { datasourceRoutes } from '../resources/datasources/routes.ts';
import { dispatchRoutes, operatorDispatchRoutes } from '../resources/dispatch/routes.ts';
import { operatorFleetRoutes } from '../resources/fleet/routes.ts';
import { folderRoutes } from '../resources/folders/routes.ts';
import { listenerRoutes } from '../resources/listeners/routes.ts';
import { notificationRoutes } from '../resources/notifications/routes.ts';
import { oauthRoutes } from '../resources/oauth/routes.ts';
import { oauthConnectionRoutes } from '../resources/oauth-connections/routes.ts';
import { operatorRoutes } from '../resources/operator/routes.ts';
import { overviewRoutes } from '../resources/overview/routes.ts';
import { dataQueryRoutes } from '../resources/queries/routes.ts';
import { operatorQuotaRoutes, quotaRoutes } from '../resources/quotas/routes.ts';
import { retentionRoutes } from '../resources/retention/routes.ts';
import { operatorRoleRoutes } from '../resources/roles/operator-routes.ts';
import { roleRoutes } from '../resources/roles/routes.ts';
import { tenantRoutes } from '../resources/tenants/routes.ts';
import { toolApprovalRoutes } from '../resources/tool-approvals/routes.ts';
import { operatorUserRoutes } from '../resources/users/operator-routes.ts';
import { userRoutes } from '../resources/users/routes.ts';
import { variableRoutes } from '../resources/variables/routes.ts';
import { webhookRoutes } from '../resources/webhooks/routes.ts';
import { operatorLibraryRoutes, widgetLibraryRoutes } from '../resources/widgets/library/routes.ts';
import { widgetRoutes } from '../resources/widgets/routes.ts';
import { workflowInstanceRoutes } from '../resources/workflow-instances/routes.ts';
import { sendWorkflowEvent } from '../resources/workflows/execute/send-event.ts';
import { workflowDraftRoutes, workflowListRoutes, workflowRoutes } from '../resources/workflows/routes.ts';

/** Every route of the service, in the groups and the order of the contract. */
export const routeGroups: readonly RouteGroup<ApiContext>[] = [
  {
    ...serviceGroup,
    routes: accountRoutes,
  },
  {
    tag: 'Tenants',
    description: 'A tenant is an isolated workspace. Everything else belongs to one.',
    routes: [...tenantRoutes, ...overviewRoutes, ...quotaRoutes, ...dispatchRoutes],
  },
  {
    tag: 'Database',
    description: "The tenant's own PostgreSQL database: schemas, tables, rows, triggers and SQL.",
    routes: databaseRoutes,
  },
  {
    tag: 'Datasources',
    description: 'Connections to databases, services and files. Workers use them; secrets are never shown again.',
    routes: [...datasourceFileRoutes, ...datasourceRoutes],
  },
  {
    tag: 'Data queries',
    description: 'Stored queries of a datasource, with parameters, pages and a cache.',
    routes: dataQueryRoutes,
  },
  {
    tag: 'Workflows',
    description: 'Graphs of nodes that workers run. A run is called an instance.',
    // Fixed paths come before `:workflowID`, which would take them for an id.
    routes: [
      ...workflowListRoutes,
      ...workflowInstanceRoutes,
      ...workflowDraftRoutes,
      listCollectionRequests,
      sendWorkflowEvent,
      ...collectionRequestRoutes,
      ...workflowRoutes,
      ...accountingRoutes,
      ...retentionRoutes,
    ],
  },
  {
    tag: 'Listeners',
    description: 'What receives events from outside, such as webhooks, and what is done with them.',
    routes: [...listenerRoutes, ...webhookRoutes],
  },
  {
    tag: 'Widgets',
    description: 'Parts of an admin UI, and the data that they show.',
    routes: [...widgetRoutes, ...widgetLibraryRoutes],
  },
  {
    tag: 'Dashboards',
    description: 'Widgets in a grid, with versions.',
    routes: dashboardRoutes,
  },
  {
    tag: 'App pages',
    description: 'Pages of an application, with versions. They bind queries, workflows and listeners.',
    routes: appPageRoutes,
  },
  {
    tag: 'Folders',
    description:
      'Trees in which an admin UI shows workflows, data queries, cron jobs, listeners, datasources, widgets, dashboards and app pages.',
    routes: folderRoutes,
  },
  {
    tag: 'Bundles',
    description: 'Assets as JSON that moves between tenants and into version control.',
    routes: bundleRoutes,
  },
  {
    tag: 'Variables',
    description: 'Values and secrets of a tenant that its workflows share.',
    routes: variableRoutes,
  },
  {
    tag: 'Users',
    description: 'Members of a tenant, invitations, and the roles of both.',
    routes: userRoutes,
  },
  {
    tag: 'Notifications',
    description: 'What a user should know, in all of their tenants. Sockets get them as `notification`.',
    routes: notificationRoutes,
  },
  {
    tag: 'Roles',
    description: 'Named sets of permissions. A permission is written `<resource>.<action>`.',
    routes: roleRoutes,
  },
  {
    tag: 'API keys',
    description: 'Credentials for programs, with permissions of their own.',
    routes: apiKeyRoutes,
  },
  {
    tag: 'Cron jobs',
    description: 'Workflows and data queries that run by a schedule.',
    routes: cronJobRoutes,
  },
  {
    tag: 'OAuth',
    description: 'Accounts at other services, connected by OAuth 2.0, that datasources use.',
    routes: [...oauthRoutes, ...oauthConnectionRoutes],
  },
  {
    tag: 'AI',
    description: 'The language model of a tenant, its budgets, and what is asked of it.',
    routes: [...aiConfigRoutes, ...aiChatRoutes, ...toolApprovalRoutes],
  },
  {
    tag: 'Audit',
    description: 'What was done in a tenant, by whom, and what it changed.',
    routes: auditRoutes,
  },
  {
    tag: 'Operator',
    description: 'Administration of the whole deployment. It needs the session of an operator.',
    routes: [
      ...operatorRoutes,
      ...operatorRoleRoutes,
      ...operatorUserRoutes,
      ...operatorQuotaRoutes,
      ...operatorDispatchRoutes,
      ...operatorAccountingRoutes,
      ...operatorFleetRoutes,
      ...operatorLibraryRoutes,
    ],
  },
];

export const routes = routeGroups.flatMap(({ routes }) => routes);
