/** The files that drive a browser. */
export type File = 'console' | 'console-assets';

const tenant = '/console/t/$tenantID';

/** Which file looks at which page by `expectAccessible`. A page in neither list fails in both files, and one that is not looked at in its own. */
export const lookedAt: Readonly<Record<File, readonly string[]>> = {
  console: [
    ...['/console', '/console/sign-in', tenant],
    ...['/runs', '/runs/$instanceID', '/batches', '/batches/$batchID', '/inbox', '/inbox/$requestID'].map(below),
    ...['/workflows', '/workflows/$workflowID', '/templates', '/templates/$name', '/queries/new'].map(below),
  ],
  'console-assets': [
    ...['/queries', '/queries/new', '/queries/$dataQueryID', '/cron', '/cron/$cronJobID', '/database'].map(below),
    ...['/pages', '/pages/$appPageID', '/pages/$appPageID/edit'].map(below),
    ...['/pages/dashboards/$dashboardID', '/pages/dashboards/$dashboardID/edit'].map(below),
    ...['/datasources', '/datasources/new', '/datasources/$datasourceID'].map(below),
    ...['/listeners', '/listeners/new', '/listeners/$listenerID', '/inbox/calls/$toolCallID'].map(below),
    ...['/members', '/roles', '/api-keys', '/audit', '/settings', '/settings/limits', '/settings/retention'].map(below),
    ...['/settings/variables', '/settings/ai', '/settings/tools', '/settings/accounts', '/settings/bundles'].map(below),
    ...['/fleet', '/fleet/tenants/$tenantID'],
  ],
};

/** That to which a provider leads back is left before it shows what could be looked at. */
export const neverSeen: readonly string[] = ['/console/signed-in'];

function below(path: string): string {
  return tenant + path;
}
