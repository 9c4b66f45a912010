import { infiniteQueryOptions, queryOptions } from '@tanstack/react-query';
import type { PageIDs, SavedVersion, VersionContent } from './page-version.ts';
import { body, rest } from './rest.ts';
import type { Schemas } from './types.ts';

const T = '/api/v1/tenants/{tenantID}';
const PAGE = 20;

type Summary = Schemas['AppPageVersionSummary'] | Schemas['DashboardVersionSummary'];

function saved(version: Summary): SavedVersion {
  const { versionNumber: number, changeNote: note, creatorID, createdByApiKeyID, createdAt } = version;
  const own =
    'appPageVersionID' in version
      ? { id: version.appPageVersionID, title: version.appPageTitle }
      : { id: version.dashboardVersionID, title: version.dashboardTitle };
  return { ...own, number, note, creatorID, createdByApiKeyID, createdAt };
}

export const pageVersionsKey = ({ tenantID, kind, id }: PageIDs) => ['page-versions', tenantID, kind, id];

/** Newest first. */
export function pageVersionsRead(ids: PageIDs) {
  const { tenantID, kind, id } = ids;
  return infiniteQueryOptions({
    queryKey: pageVersionsKey(ids),
    async queryFn({ pageParam: cursor }): Promise<{ versions: SavedVersion[]; nextCursor: string | null }> {
      const query = { limit: PAGE, ...(cursor && { cursor }) };
      const { versions, nextCursor } =
        kind === 'app-page'
          ? await body(
              rest.GET(`${T}/app-pages/{appPageID}/versions`, { params: { path: { tenantID, appPageID: id }, query } }),
            )
          : await body(
              rest.GET(`${T}/dashboards/{dashboardID}/versions`, {
                params: { path: { tenantID, dashboardID: id }, query },
              }),
            );
      return { versions: versions.map(saved), nextCursor };
    },
    initialPageParam: '',
    getNextPageParam: ({ nextCursor }) => nextCursor,
    staleTime: 0,
  });
}

export function pageVersionRead(ids: PageIDs, versionID: string) {
  const { tenantID, kind, id } = ids;
  return queryOptions({
    queryKey: [...pageVersionsKey(ids), 'one', versionID],
    async queryFn(): Promise<VersionContent> {
      if (kind === 'app-page') {
        const path = { tenantID, appPageID: id, appPageVersionID: versionID };
        const { version } = await body(
          rest.GET(`${T}/app-pages/{appPageID}/versions/{appPageVersionID}`, { params: { path } }),
        );
        const { appPageTitle: title, appPageDescription: description, appPageConfig: config } = version;
        return { title, description, config };
      }
      const path = { tenantID, dashboardID: id, dashboardVersionID: versionID };
      const { version } = await body(
        rest.GET(`${T}/dashboards/{dashboardID}/versions/{dashboardVersionID}`, { params: { path } }),
      );
      const { dashboardTitle: title, dashboardDescription: description, dashboardConfig: config } = version;
      return { title, description, config };
    },
    staleTime: Number.POSITIVE_INFINITY,
  });
}

/** Saves the content of a version as the latest one. */
export async function restorePageVersion({ tenantID, kind, id }: PageIDs, versionID: string): Promise<void> {
  if (kind === 'app-page') {
    const path = { tenantID, appPageID: id, appPageVersionID: versionID };
    await body(rest.POST(`${T}/app-pages/{appPageID}/versions/{appPageVersionID}/restore`, { params: { path } }));
    return;
  }
  const path = { tenantID, dashboardID: id, dashboardVersionID: versionID };
  await body(rest.POST(`${T}/dashboards/{dashboardID}/versions/{dashboardVersionID}/restore`, { params: { path } }));
}

export interface StoredPage {
  title: string;
  folderID: string | null;
  creatorID: string;
  createdByApiKeyID: string | null;
  isDraft: boolean;
}

/** All that the API knows of a page beside its content. */
export function storedPageRead({ tenantID, kind, id }: PageIDs) {
  return queryOptions({
    queryKey: ['page-stored', tenantID, kind, id],
    async queryFn(): Promise<StoredPage> {
      if (kind === 'app-page') {
        const params = { path: { tenantID, appPageID: id } };
        const { appPage } = await body(rest.GET(`${T}/app-pages/{appPageID}`, { params }));
        return { ...appPage, title: appPage.appPageTitle };
      }
      const params = { path: { tenantID, dashboardID: id } };
      const { dashboard } = await body(rest.GET(`${T}/dashboards/{dashboardID}`, { params }));
      return { ...dashboard, title: dashboard.dashboardTitle, isDraft: false };
    },
  });
}
