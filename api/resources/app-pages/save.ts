import type { Caller } from '#shared/core/caller.ts';
import { newID } from '#shared/core/ids.ts';
import type { JsonObject } from '#shared/core/json.ts';
import { inEntityTransaction } from '#shared/db/query.ts';
import type { EntityManager } from '#shared/entities/orm.ts';
import type { AppPage } from '#shared/entities/tables/app-page.ts';
import { AppPage as Entity } from '#shared/entities/tables/app-page.ts';
import { createAsset } from '../../assets/assets.ts';
import { asStoredConfig } from '../../assets/config-size.ts';
import { saveNextVersion, saveVersion, type VersionContent } from '../../versions/asset-versions.ts';

type Content = Pick<AppPage, 'appPageTitle' | 'appPageConfig'> & { appPageDescription?: string | null };

/** The part of a page that versions store. */
export function contentOf({ appPageTitle, appPageDescription, appPageConfig }: Content): VersionContent {
  return { title: appPageTitle, description: appPageDescription ?? null, config: appPageConfig };
}

/** Writes a new app page with its first version. */
export function addAppPage(
  em: EntityManager,
  caller: Caller,
  values: Content & { id?: string; isDraft: boolean; folderID?: string | null | undefined },
): Promise<AppPage> {
  return inEntityTransaction(em, async () => {
    const appPage = await createAsset(em, caller, 'appPage', Entity, { id: newID(), versionNumber: 1, ...values });
    await saveVersion(em, appPage, { caller, changeNote: null, ...contentOf(appPage) });
    return appPage;
  });
}

interface Change {
  appPageTitle?: string | undefined;
  appPageDescription?: string | null | undefined;
  appPageConfig?: JsonObject | undefined;
  isDraft?: boolean | undefined;
  folderID?: string | null | undefined;
}

/** Changes a locked appPage. */
export async function changeAppPage(
  em: EntityManager,
  appPage: AppPage,
  { change, ...saving }: { change: Change; caller: Caller; changeNote: string | null | undefined },
): Promise<void> {
  const before = contentOf(appPage);
  em.assign(appPage, change, { ignoreUndefined: true });
  await saveNextVersion(em, { asset: appPage, before, after: contentOf(appPage) }, saving);
}

/** A page of 100 widgets with all their places has 50 kB. */
const MAX_BYTES = 1024 ** 2;

export function storedConfig(config: JsonObject): JsonObject {
  return asStoredConfig(config, ['appPageConfig'], MAX_BYTES);
}
