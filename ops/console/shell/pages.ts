import type { LinkProps } from '@tanstack/react-router';
import type { Permission } from '../client/may.ts';
import type { IconName } from '../ui/icon.tsx';

export interface Page {
  to: LinkProps['to'];
  icon: IconName;
  title: string;
  /** Any of them opens the page. */
  needs: readonly Permission[];
}

/** The pages of a tenant, in the order of the navigation. */
export const pages = [
  { to: '/t/$tenantID', icon: 'home', title: 'Home', needs: [] },
  { to: '/t/$tenantID/runs', icon: 'runs', title: 'Runs', needs: ['workflow.read'] },
  { to: '/t/$tenantID/inbox', icon: 'inbox', title: 'Inbox', needs: ['workflow.execute', 'ai.approve'] },
  { to: '/t/$tenantID/pages', icon: 'grid', title: 'Pages', needs: ['appPage.read', 'dashboard.read'] },
  { to: '/t/$tenantID/workflows', icon: 'flow', title: 'Workflows', needs: ['workflow.list'] },
  { to: '/t/$tenantID/queries', icon: 'query', title: 'Queries', needs: ['dataquery.list'] },
  { to: '/t/$tenantID/datasources', icon: 'data', title: 'Datasources', needs: ['datasource.list'] },
  { to: '/t/$tenantID/cron', icon: 'clock', title: 'Cron jobs', needs: ['cronjob.list'] },
  { to: '/t/$tenantID/listeners', icon: 'ear', title: 'Webhooks & listeners', needs: ['listener.list'] },
  { to: '/t/$tenantID/database', icon: 'table', title: 'Database', needs: ['database.schemaList'] },
  { to: '/t/$tenantID/members', icon: 'people', title: 'Members', needs: ['user.list'] },
  { to: '/t/$tenantID/roles', icon: 'shield', title: 'Roles', needs: ['role.list'] },
  { to: '/t/$tenantID/api-keys', icon: 'key', title: 'API keys', needs: ['apikey.list'] },
  { to: '/t/$tenantID/audit', icon: 'eye', title: 'Audit', needs: ['audit.list'] },
  { to: '/t/$tenantID/settings', icon: 'gear', title: 'Settings', needs: ['tenant.read'] },
] as const satisfies readonly Page[];
