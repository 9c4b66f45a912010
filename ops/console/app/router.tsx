import { createRootRoute, createRoute, createRouter, Outlet, redirect } from '@tanstack/react-router';
import { parseAppView } from '../apps/view.ts';
import { parseAuditView } from '../client/audit-filter.ts';
import { parseListFilter } from '../client/list-filter.ts';
import { parseRunFilter } from '../client/run-filter.ts';
import { getSession } from '../client/session.ts';
import { parseDatabaseView } from '../database/view.ts';
import { parseEditorView } from '../editor/view.ts';
import { parseInboxView } from '../inbox/view.ts';
import { parseListenerView } from '../listener/view.ts';
import { ErrorPage, NotFoundPage } from '../pages/error.tsx';
import { parsePeopleView } from '../people/view.ts';
import { parseQueryView } from '../query/view.ts';
import { parseRunView } from '../run/view.ts';
import { lazyPage } from './lazy-page.ts';
import { Shell } from './shell.tsx';

const root = createRootRoute({ component: Outlet, notFoundComponent: NotFoundPage });

const signIn = createRoute({
  getParentRoute: () => root,
  path: '/sign-in',
  validateSearch: (search: Record<string, unknown>): { next?: string } =>
    typeof search.next === 'string' && search.next.startsWith('/') ? { next: search.next } : {},
  component: lazyPage(() => import('../pages/sign-in.tsx'), 'SignInPage'),
});

const signedIn = createRoute({
  getParentRoute: () => root,
  path: '/signed-in',
  component: lazyPage(() => import('../pages/signed-in.tsx'), 'SignedInPage'),
});

/** Everything that needs a session. */
const shell = createRoute({
  getParentRoute: () => root,
  id: 'shell',
  beforeLoad: ({ location }) => {
    if (getSession()) return;
    throw redirect({ to: '/sign-in', search: location.href === '/' ? {} : { next: location.href } });
  },
  component: Shell,
});

const tenants = createRoute({
  getParentRoute: () => shell,
  path: '/',
  component: lazyPage(() => import('../pages/tenants.tsx'), 'TenantsPage'),
});

const tenant = createRoute({ getParentRoute: () => shell, path: '/t/$tenantID', component: Outlet });

const home = createRoute({
  getParentRoute: () => tenant,
  path: '/',
  component: lazyPage(() => import('../pages/home.tsx'), 'HomePage'),
});

const runs = createRoute({
  getParentRoute: () => tenant,
  path: '/runs',
  validateSearch: parseRunFilter,
  component: lazyPage(() => import('../pages/runs.tsx'), 'RunsPage'),
});

const run = createRoute({
  getParentRoute: () => tenant,
  path: '/runs/$instanceID',
  validateSearch: parseRunView,
  component: lazyPage(() => import('../pages/run.tsx'), 'RunPage'),
});

const cursorIn = ({ cursor }: Record<string, unknown>): { cursor?: string } =>
  typeof cursor === 'string' ? { cursor } : {};

const batches = createRoute({
  getParentRoute: () => tenant,
  path: '/batches',
  validateSearch: cursorIn,
  component: lazyPage(() => import('../pages/batches.tsx'), 'BatchesPage'),
});

const batch = createRoute({
  getParentRoute: () => tenant,
  path: '/batches/$batchID',
  component: lazyPage(() => import('../pages/batch.tsx'), 'BatchPage'),
});

const inbox = createRoute({
  getParentRoute: () => tenant,
  path: '/inbox',
  validateSearch: parseInboxView,
  component: lazyPage(() => import('../pages/inbox.tsx'), 'InboxPage'),
});

const request = createRoute({
  getParentRoute: () => tenant,
  path: '/inbox/$requestID',
  component: lazyPage(() => import('../pages/request.tsx'), 'RequestPage'),
});

const toolCall = createRoute({
  getParentRoute: () => tenant,
  path: '/inbox/calls/$toolCallID',
  component: lazyPage(() => import('../pages/tool-call.tsx'), 'ToolCallPage'),
});

const workflows = createRoute({
  getParentRoute: () => tenant,
  path: '/workflows',
  validateSearch: parseListFilter,
  component: lazyPage(() => import('../pages/workflows.tsx'), 'WorkflowsPage'),
});

const workflow = createRoute({
  getParentRoute: () => tenant,
  path: '/workflows/$workflowID',
  validateSearch: parseEditorView,
  component: lazyPage(() => import('../pages/workflow.tsx'), 'WorkflowPage'),
});

const templates = createRoute({
  getParentRoute: () => tenant,
  path: '/templates',
  component: lazyPage(() => import('../pages/templates.tsx'), 'TemplatesPage'),
});

const template = createRoute({
  getParentRoute: () => tenant,
  path: '/templates/$name',
  component: lazyPage(() => import('../pages/template.tsx'), 'TemplatePage'),
});

const appPages = createRoute({
  getParentRoute: () => tenant,
  path: '/pages',
  validateSearch: parseAppView,
  component: lazyPage(() => import('../pages/app-pages.tsx'), 'AppPagesPage'),
});

const appPage = createRoute({
  getParentRoute: () => tenant,
  path: '/pages/$appPageID',
  component: lazyPage(() => import('../pages/app-page.tsx'), 'AppPagePage'),
});

const appPageEdit = createRoute({
  getParentRoute: () => tenant,
  path: '/pages/$appPageID/edit',
  component: lazyPage(() => import('../pages/app-page-edit.tsx'), 'AppPageEditPage'),
});

const dashboardEdit = createRoute({
  getParentRoute: () => tenant,
  path: '/pages/dashboards/$dashboardID/edit',
  component: lazyPage(() => import('../pages/dashboard-edit.tsx'), 'DashboardEditPage'),
});

const dashboard = createRoute({
  getParentRoute: () => tenant,
  path: '/pages/dashboards/$dashboardID',
  component: lazyPage(() => import('../pages/dashboard.tsx'), 'DashboardPage'),
});

const queries = createRoute({
  getParentRoute: () => tenant,
  path: '/queries',
  validateSearch: parseListFilter,
  component: lazyPage(() => import('../pages/queries.tsx'), 'QueriesPage'),
});

const newQuery = createRoute({
  getParentRoute: () => tenant,
  path: '/queries/new',
  validateSearch: ({ datasourceID }: Record<string, unknown>): { datasourceID?: string } =>
    typeof datasourceID === 'string' ? { datasourceID } : {},
  component: lazyPage(() => import('../pages/new-query.tsx'), 'NewQueryPage'),
});

const query = createRoute({
  getParentRoute: () => tenant,
  path: '/queries/$dataQueryID',
  validateSearch: parseQueryView,
  component: lazyPage(() => import('../pages/query.tsx'), 'QueryPage'),
});

const datasources = createRoute({
  getParentRoute: () => tenant,
  path: '/datasources',
  validateSearch: parseListFilter,
  component: lazyPage(() => import('../pages/datasources.tsx'), 'DatasourcesPage'),
});

const newDatasource = createRoute({
  getParentRoute: () => tenant,
  path: '/datasources/new',
  component: lazyPage(() => import('../pages/new-datasource.tsx'), 'NewDatasourcePage'),
});

const datasource = createRoute({
  getParentRoute: () => tenant,
  path: '/datasources/$datasourceID',
  component: lazyPage(() => import('../pages/datasource.tsx'), 'DatasourcePage'),
});

const cronJobs = createRoute({
  getParentRoute: () => tenant,
  path: '/cron',
  validateSearch: parseListFilter,
  component: lazyPage(() => import('../pages/cron-jobs.tsx'), 'CronJobsPage'),
});

const cronJob = createRoute({
  getParentRoute: () => tenant,
  path: '/cron/$cronJobID',
  component: lazyPage(() => import('../pages/cron-job.tsx'), 'CronJobPage'),
});

const listeners = createRoute({
  getParentRoute: () => tenant,
  path: '/listeners',
  validateSearch: parseListFilter,
  component: lazyPage(() => import('../pages/listeners.tsx'), 'ListenersPage'),
});

const newListener = createRoute({
  getParentRoute: () => tenant,
  path: '/listeners/new',
  component: lazyPage(() => import('../pages/new-listener.tsx'), 'NewListenerPage'),
});

const listener = createRoute({
  getParentRoute: () => tenant,
  path: '/listeners/$listenerID',
  validateSearch: parseListenerView,
  component: lazyPage(() => import('../pages/listener.tsx'), 'ListenerPage'),
});

const database = createRoute({
  getParentRoute: () => tenant,
  path: '/database',
  validateSearch: parseDatabaseView,
  component: lazyPage(() => import('../pages/database.tsx'), 'DatabasePage'),
});

const members = createRoute({
  getParentRoute: () => tenant,
  path: '/members',
  validateSearch: parsePeopleView,
  component: lazyPage(() => import('../pages/members.tsx'), 'MembersPage'),
});

const roles = createRoute({
  getParentRoute: () => tenant,
  path: '/roles',
  validateSearch: parsePeopleView,
  component: lazyPage(() => import('../pages/roles.tsx'), 'RolesPage'),
});

const apiKeys = createRoute({
  getParentRoute: () => tenant,
  path: '/api-keys',
  validateSearch: parsePeopleView,
  component: lazyPage(() => import('../pages/api-keys.tsx'), 'ApiKeysPage'),
});

const audit = createRoute({
  getParentRoute: () => tenant,
  path: '/audit',
  validateSearch: parseAuditView,
  component: lazyPage(() => import('../pages/audit.tsx'), 'AuditPage'),
});

const settings = createRoute({
  getParentRoute: () => tenant,
  path: '/settings',
  component: lazyPage(() => import('../pages/settings.tsx'), 'SettingsPage'),
});

const tenantSettings = createRoute({
  getParentRoute: () => settings,
  path: '/',
  component: lazyPage(() => import('../pages/settings/tenant.tsx'), 'TenantSettingsPage'),
});

const limitSettings = createRoute({
  getParentRoute: () => settings,
  path: '/limits',
  component: lazyPage(() => import('../pages/settings/limits.tsx'), 'LimitSettingsPage'),
});

const retentionSettings = createRoute({
  getParentRoute: () => settings,
  path: '/retention',
  component: lazyPage(() => import('../pages/settings/retention.tsx'), 'RetentionSettingsPage'),
});

const variableSettings = createRoute({
  getParentRoute: () => settings,
  path: '/variables',
  validateSearch: parseListFilter,
  component: lazyPage(() => import('../pages/settings/variables.tsx'), 'VariableSettingsPage'),
});

const aiSettings = createRoute({
  getParentRoute: () => settings,
  path: '/ai',
  component: lazyPage(() => import('../pages/settings/ai.tsx'), 'AISettingsPage'),
});

const toolSettings = createRoute({
  getParentRoute: () => settings,
  path: '/tools',
  component: lazyPage(() => import('../pages/settings/tools.tsx'), 'ToolSettingsPage'),
});

const accountSettings = createRoute({
  getParentRoute: () => settings,
  path: '/accounts',
  component: lazyPage(() => import('../pages/settings/accounts.tsx'), 'AccountSettingsPage'),
});

const bundleSettings = createRoute({
  getParentRoute: () => settings,
  path: '/bundles',
  component: lazyPage(() => import('../pages/settings/bundles.tsx'), 'BundleSettingsPage'),
});

export const router = createRouter({
  routeTree: root.addChildren([
    signIn,
    signedIn,
    shell.addChildren([
      tenants,
      tenant.addChildren([
        home,
        runs,
        run,
        batches,
        batch,
        inbox,
        request,
        toolCall,
        workflows,
        workflow,
        templates,
        template,
        appPages,
        appPage,
        appPageEdit,
        dashboard,
        dashboardEdit,
        queries,
        newQuery,
        query,
        datasources,
        newDatasource,
        datasource,
        cronJobs,
        cronJob,
        listeners,
        newListener,
        listener,
        database,
        members,
        roles,
        apiKeys,
        audit,
        settings.addChildren([
          tenantSettings,
          limitSettings,
          retentionSettings,
          variableSettings,
          aiSettings,
          toolSettings,
          accountSettings,
          bundleSettings,
        ]),
      ]),
    ]),
  ]),
  basepath: '/console',
  defaultErrorComponent: ErrorPage,
  defaultPreload: 'intent',
  scrollRestoration: true,
});

declare module '@tanstack/react-router' {
  interface Register {
    router: typeof router;
  }
}
