import type { TenantRoute, ToolAnnotations } from './tool.ts';

/** Effects of a tool on the tenant, and on servers outside. */
export function annotationsOf(route: TenantRoute): ToolAnnotations {
  const runsStored = runsStatements.has(route.name);
  const readOnlyHint = !runsStored && (route.method === 'get' || readsOnly.has(route.name));
  return {
    title: route.summary,
    readOnlyHint,
    destructiveHint: !readOnlyHint && (runsStored || destroys.has(route.name) || !adds(route)),
    idempotentHint: !runsStored && (readOnlyHint || route.method !== 'post' || repeats.has(route.name)),
    openWorldHint: reachesOut(route),
  };
}

/** One sentence on time and side effects. */
export function costOf(route: TenantRoute): string {
  const { readOnlyHint } = annotationsOf(route);
  if (startsRuns.has(route.name))
    return 'Cost: starts work that goes on after the answer, counts against quotas, and may reach other services; nothing takes it back.';
  if (reachesOut(route))
    return `Cost: waits for a server of the tenant, up to 30 seconds${readOnlyHint ? '; it changes nothing' : ''}.`;
  if (readOnlyHint) return 'Cost: low; it reads what Gantry has stored and changes nothing.';
  if (route.method === 'delete') return 'Cost: low, but what is deleted cannot be brought back.';
  return 'Cost: low; it changes what Gantry has stored, and the audit trail records it.';
}

function adds({ method }: TenantRoute): boolean {
  return method === 'post';
}

/**
 * Whether a route sends a request to another server. A route does if its errors say that a server behind the service may
 * fail.
 */
export function reachesOut({ name, path, idempotent, errors = [] }: TenantRoute): boolean {
  if (startsRuns.has(name) || asksTenant.has(name) || path.includes('/database/')) return true;
  return (idempotent === 'outside' || errors.includes('502') || errors.includes('504')) && !name.startsWith('list');
}

const readsOnly: ReadonlySet<string> = new Set([
  'testDatasourceConnection',
  'testDatasource',
  'previewLibraryEntry',
  'exportBundle',
  'previewImport',
  'planImport',
  'previewCronSchedule',
  'planWorkflow',
  'checkWorkflow',
  'generateWorkflow',
]);

/** Routes that only read for their client, but execute stored statements, which may write, as `runQuery` does. */
const runsStatements: ReadonlySet<string> = new Set(['getWidgetData', 'getWidgetDataByConfig', 'getWidgetsData']);

/** POST routes that overwrite or remove something, or that execute code or statements of a tenant, which may do so. */
const destroys: ReadonlySet<string> = new Set([
  'executeRawSql',
  'runQuery',
  'testQuery',
  'runAppPageQuery',
  'executeWorkflow',
  'executeWorkflowBulk',
  'executeAppPageWorkflow',
  'testWorkflow',
  'rerunWorkflowInstance',
  'rerunWorkflowInstances',
  'stopWorkflowInstances',
  'purgeListenerEvents',
  'restoreWorkflowVersion',
  'restoreDashboardVersion',
  'restoreAppPageVersion',
  'publishWorkflowVersion',
  'executeImport',
  'applyImport',
  'rollBackImport',
  'syncRolePolicies',
]);

/** POST routes that change nothing more when they are called again. */
const repeats: ReadonlySet<string> = new Set([
  'activateListener',
  'deactivateListener',
  'pauseWorkflow',
  'resumeWorkflow',
  'pauseIntake',
  'resumeIntake',
  'pauseCronJob',
  'resumeCronJob',
  'publishWorkflowVersion',
  'syncRolePolicies',
  'redeliverWorkflowDelivery',
  'purgeListenerEvents',
  'moveToFolder',
]);

const startsRuns: ReadonlySet<string> = new Set([
  'executeWorkflow',
  'executeWorkflowBulk',
  'executeAppPageWorkflow',
  'testWorkflow',
  'rerunWorkflowInstance',
  'rerunWorkflowInstances',
  'runCronJob',
  'createCronBackfill',
  'sendWorkflowEvent',
  'submitCollectionRequest',
  'submitAppPageQuestion',
  'redriveListenerEvent',
  'redriveListenerEvents',
  'replayListenerEvent',
  'shadowReplayListenerEvent',
  'sendTestDelivery',
]);

const asksTenant: ReadonlySet<string> = new Set([
  'testDatasourceConnection',
  'testDatasource',
  'getDatasourceMetadata',
  'listDatasourceTables',
  'runQuery',
  'testQuery',
  'runAppPageQuery',
  'getWidgetData',
  'getWidgetDataByConfig',
  'getWidgetsData',
]);
