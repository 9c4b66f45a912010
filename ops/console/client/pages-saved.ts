import { body, rest } from './rest.ts';
import type { Schemas } from './types.ts';

const T = '/api/v1/tenants/{tenantID}';

/** The version that is changed: another one that was saved meanwhile is a refusal. */
const ifMatch = (versionNumber: number) => ({ 'If-Match': `"${versionNumber}"` });

export async function createPageWidget(
  tenantID: string,
  widget: Schemas['WidgetCreate'],
  /** The same for a repetition after a lost answer, which then creates nothing. */
  idempotencyKey: string,
): Promise<Schemas['Widget']> {
  const params = { path: { tenantID }, header: { 'Idempotency-Key': idempotencyKey } };
  return (await body(rest.POST(`${T}/widgets`, { params, body: widget }))).widget;
}

export async function savePageWidget(
  path: { tenantID: string; widgetID: string },
  change: Schemas['WidgetUpdate'],
  versionNumber: number,
): Promise<Schemas['Widget']> {
  const params = { path, header: ifMatch(versionNumber) };
  return (await body(rest.PATCH(`${T}/widgets/{widgetID}`, { params, body: change }))).widget;
}

export async function deletePageWidget(path: { tenantID: string; widgetID: string }): Promise<void> {
  await rest.DELETE(`${T}/widgets/{widgetID}`, { params: { path } });
}

export async function saveAppPage(
  path: { tenantID: string; appPageID: string },
  change: Schemas['AppPageUpdate'],
  versionNumber: number,
): Promise<Schemas['AppPage']> {
  const params = { path, header: ifMatch(versionNumber) };
  return (await body(rest.PATCH(`${T}/app-pages/{appPageID}`, { params, body: change }))).appPage;
}

export async function saveDashboard(
  path: { tenantID: string; dashboardID: string },
  change: Schemas['DashboardUpdate'],
  versionNumber: number,
): Promise<Schemas['Dashboard']> {
  const params = { path, header: ifMatch(versionNumber) };
  return (await body(rest.PATCH(`${T}/dashboards/{dashboardID}`, { params, body: change }))).dashboard;
}

/** An empty dashboard; answers its id. */
export async function createDashboard(tenantID: string, dashboardTitle: string): Promise<string> {
  const empty = { dashboardTitle, dashboardConfig: { widgets: [] } };
  const params = { path: { tenantID } };
  return (await body(rest.POST(`${T}/dashboards`, { params, body: empty }))).dashboard.dashboardID;
}
