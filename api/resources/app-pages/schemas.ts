import { z } from 'zod';
import { looseObject } from '#shared/core/record.ts';
import { idOf } from '#shared/core/schema/reference.ts';
import { explorerPage, pageFields, pageQuery } from '../../http/fields/paging.ts';
import { Message } from '../../http/fields/response-parts.ts';
import { Title } from '../../http/fields/text.ts';
import { AppPageConfig } from '../../pages/app-page-config.ts';
import { ChangeNote } from '../../versions/schemas.ts';
import {
  exampleAppPage,
  exampleAppPageCreate,
  exampleAppPageUpdate,
  exampleVersion,
  exampleVersionSummary,
} from './examples.ts';

export const AppPageID = z.object({ appPageID: idOf('appPage') });
export const AppPageVersionID = z.object({ appPageID: idOf('appPage'), appPageVersionID: idOf('version') });

const described = { appPageDescription: z.string().max(10_000).nullish(), folderID: idOf('folder').nullish() };

const isDraft = z
  .boolean()
  .describe('A draft runs nothing for its viewers, and may bind what is not there or not permitted');

export const AppPageCreate = z
  .object({ appPageTitle: Title, appPageConfig: AppPageConfig, isDraft: isDraft.default(false), ...described })
  .meta({ id: 'AppPageCreate', examples: [exampleAppPageCreate] });

/** Absent fields stay as they are, null clears a field. */
export const AppPageUpdate = z
  .object({
    appPageTitle: Title.optional(),
    appPageConfig: AppPageConfig.optional(),
    isDraft: isDraft.optional(),
    ...described,
    changeNote: ChangeNote,
  })
  .meta({ id: 'AppPageUpdate', examples: [exampleAppPageUpdate] });

export const AppPageList = z.object({
  ...pageQuery(explorerPage),
  search: z.string().max(255).optional(),
  folderID: idOf('folder').optional(),
});

export const AppPage = z
  .object({
    id: z.uuid(),
    appPageID: z.uuid(),
    tenantID: z.uuid(),
    appPageTitle: z.string(),
    appPageDescription: z.string().nullable(),
    appPageConfig: looseObject({}),
    isDraft: z.boolean(),
    versionNumber: z.int().describe('Of its latest version; the `ETag` has it too'),
    folderID: z.uuid().nullable(),
    creatorID: z.uuid(),
    createdByApiKeyID: z.uuid().nullable(),
    createdAt: z.iso.datetime(),
    updatedAt: z.iso.datetime(),
  })
  .meta({ id: 'AppPage', examples: [exampleAppPage] });

export const AppPages = z
  .object({ appPages: z.array(AppPage), ...pageFields, message: Message })
  .meta({ id: 'AppPagePage' });

/** Answer to a change: the page, and a message to show. */
export const Changed = z.object({ appPage: AppPage, message: Message });

export const AppPageVersionSummary = z
  .object({
    appPageVersionID: z.uuid(),
    appPageID: z.uuid(),
    tenantID: z.uuid(),
    versionNumber: z.int(),
    appPageTitle: z.string(),
    appPageDescription: z.string().nullable(),
    changeNote: z.string().nullable(),
    creatorID: z.uuid().describe('Who saved it'),
    createdByApiKeyID: z.uuid().nullable(),
    createdAt: z.iso.datetime(),
  })
  .meta({ id: 'AppPageVersionSummary', examples: [exampleVersionSummary] });

export const AppPageVersion = AppPageVersionSummary.extend({ appPageConfig: looseObject({}) }).meta({
  id: 'AppPageVersion',
  examples: [exampleVersion],
});
