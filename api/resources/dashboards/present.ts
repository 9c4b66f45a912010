import type { z } from 'zod';
import type { AssetVersion } from '#shared/entities/tables/asset-version.ts';
import type { Dashboard as Entity } from '#shared/entities/tables/dashboard.ts';
import type { Dashboard, DashboardVersion, DashboardVersionSummary } from './schemas.ts';

export function presentDashboard(dashboard: Entity): z.input<typeof Dashboard> {
  const { id, tenantID, dashboardTitle, dashboardConfig, versionNumber, creatorID } = dashboard;
  return {
    ...{ id, dashboardID: id, tenantID, dashboardTitle, dashboardConfig, versionNumber, creatorID },
    dashboardDescription: dashboard.dashboardDescription ?? null,
    folderID: dashboard.folderID ?? null,
    createdByApiKeyID: dashboard.createdByApiKeyID ?? null,
    createdAt: dashboard.createdAt.toISOString(),
    updatedAt: dashboard.updatedAt.toISOString(),
  };
}

export function presentVersionSummary(version: Omit<AssetVersion, 'config'>): z.input<typeof DashboardVersionSummary> {
  const { id, assetID, tenantID, number, title, creatorID } = version;
  return {
    dashboardVersionID: id,
    dashboardID: assetID,
    tenantID,
    versionNumber: number,
    dashboardTitle: title,
    dashboardDescription: version.description ?? null,
    changeNote: version.changeNote ?? null,
    creatorID,
    createdByApiKeyID: version.createdByApiKeyID ?? null,
    createdAt: version.createdAt.toISOString(),
  };
}

export function presentVersion(version: AssetVersion): z.input<typeof DashboardVersion> {
  return { ...presentVersionSummary(version), dashboardConfig: version.config };
}
