import type { LinkProps } from '@tanstack/react-router';
import type { Permission } from '../client/may.ts';

export interface Area {
  to: LinkProps['to'];
  title: string;
  needs: Permission;
}

/** The pages of the settings, in their order. */
export const areas = [
  { to: '/t/$tenantID/settings', title: 'Tenant', needs: 'tenant.read' },
  { to: '/t/$tenantID/settings/limits', title: 'Limits', needs: 'tenant.read' },
  { to: '/t/$tenantID/settings/retention', title: 'Retention', needs: 'tenant.read' },
  { to: '/t/$tenantID/settings/variables', title: 'Variables', needs: 'variable.list' },
  { to: '/t/$tenantID/settings/ai', title: 'AI', needs: 'tenant.read' },
  { to: '/t/$tenantID/settings/tools', title: 'Tool approvals', needs: 'tenant.read' },
  { to: '/t/$tenantID/settings/accounts', title: 'Accounts', needs: 'datasource.list' },
  { to: '/t/$tenantID/settings/bundles', title: 'Bundles', needs: 'bundle.preview' },
] as const satisfies readonly Area[];
