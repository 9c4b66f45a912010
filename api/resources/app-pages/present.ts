import type { z } from 'zod';
import type { AppPage as Entity } from '#shared/entities/tables/app-page.ts';
import type { AssetVersion } from '#shared/entities/tables/asset-version.ts';
import type { AppPage, AppPageVersion, AppPageVersionSummary } from './schemas.ts';

export function presentAppPage(appPage: Entity): z.input<typeof AppPage> {
  const { id, tenantID, appPageTitle, appPageConfig, isDraft, versionNumber, creatorID } = appPage;
  return {
    ...{ id, appPageID: id, tenantID, appPageTitle, appPageConfig, isDraft, versionNumber, creatorID },
    appPageDescription: appPage.appPageDescription ?? null,
    folderID: appPage.folderID ?? null,
    createdByApiKeyID: appPage.createdByApiKeyID ?? null,
    createdAt: appPage.createdAt.toISOString(),
    updatedAt: appPage.updatedAt.toISOString(),
  };
}

export function presentVersionSummary(version: Omit<AssetVersion, 'config'>): z.input<typeof AppPageVersionSummary> {
  const { id, assetID, tenantID, number, title, creatorID } = version;
  return {
    appPageVersionID: id,
    appPageID: assetID,
    tenantID,
    versionNumber: number,
    appPageTitle: title,
    appPageDescription: version.description ?? null,
    changeNote: version.changeNote ?? null,
    creatorID,
    createdByApiKeyID: version.createdByApiKeyID ?? null,
    createdAt: version.createdAt.toISOString(),
  };
}

export function presentVersion(version: AssetVersion): z.input<typeof AppPageVersion> {
  return { ...presentVersionSummary(version), appPageConfig: version.config };
}
