import type { Caller } from '#shared/core/caller.ts';
import { newID } from '#shared/core/ids.ts';
import type { JsonObject } from '#shared/core/json.ts';
import { inEntityTransaction } from '#shared/db/query.ts';
import type { EntityManager } from '#shared/entities/orm.ts';
import type { Dashboard } from '#shared/entities/tables/dashboard.ts';
import { Dashboard as Entity } from '#shared/entities/tables/dashboard.ts';
import { createAsset } from '../../assets/assets.ts';
import { asStoredConfig } from '../../assets/config-size.ts';
import { saveNextVersion, saveVersion, type VersionContent } from '../../versions/asset-versions.ts';

type Content = Pick<Dashboard, 'dashboardTitle' | 'dashboardConfig'> & { dashboardDescription?: string | null };

/** The part of a dashboard that versions store. */
export function contentOf({ dashboardTitle, dashboardDescription, dashboardConfig }: Content): VersionContent {
  return { title: dashboardTitle, description: dashboardDescription ?? null, config: dashboardConfig };
}

/** Writes a new dashboard with its first version. */
export function addDashboard(
  em: EntityManager,
  caller: Caller,
  values: Content & { id?: string; folderID?: string | null },
): Promise<Dashboard> {
  return inEntityTransaction(em, async () => {
    const dashboard = await createAsset(em, caller, 'dashboard', Entity, { id: newID(), versionNumber: 1, ...values });
    await saveVersion(em, dashboard, { caller, changeNote: null, ...contentOf(dashboard) });
    return dashboard;
  });
}

interface Change {
  dashboardTitle?: string | undefined;
  dashboardDescription?: string | null | undefined;
  dashboardConfig?: JsonObject | undefined;
  folderID?: string | null | undefined;
}

/** Changes a locked dashboard. */
export async function changeDashboard(
  em: EntityManager,
  dashboard: Dashboard,
  { change, ...saving }: { change: Change; caller: Caller; changeNote: string | null | undefined },
): Promise<void> {
  const before = contentOf(dashboard);
  em.assign(dashboard, change, { ignoreUndefined: true });
  await saveNextVersion(em, { asset: dashboard, before, after: contentOf(dashboard) }, saving);
}

/** The same limit as for an app page. */
const MAX_BYTES = 1024 ** 2;

export function storedConfig(config: JsonObject): JsonObject {
  return asStoredConfig(config, ['dashboardConfig'], MAX_BYTES);
}
