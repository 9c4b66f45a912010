import type { FilterQuery } from '@mikro-orm/postgresql';
import { z } from 'zod';
import { AppPage as Entity } from '#shared/entities/tables/app-page.ts';
import { deleteAsset } from '../../assets/assets.ts';
import { tenantRoute } from '../../context/routes.ts';
import { containing, findPage } from '../../http/fields/paging.ts';
import { Message } from '../../http/fields/response-parts.ts';
import { AssetSchema, describeAsset } from '../../http/forms/asset-schema.ts';
import { AppPageConfig } from '../../pages/app-page-config.ts';
import { versionRoutes } from '../../versions/routes.ts';
import { answerPageQuestion, readPageQuestion } from './answer-question.ts';
import { cloneAppPage } from './clone.ts';
import { readPageContent } from './content.ts';
import { createAppPage } from './create.ts';
import { readPageData } from './data.ts';
import { getAppPage } from './find.ts';
import { listPageQuestions } from './list-questions.ts';
import { presentAppPage, presentVersion, presentVersionSummary } from './present.ts';
import { readPageFile } from './read-file.ts';
import { readPageRun } from './read-run.ts';
import { restoreAppPage } from './restore.ts';
import { runPageQuery } from './run-query.ts';
import { runPageWorkflow } from './run-workflow.ts';
import {
  AppPageID,
  AppPageList,
  AppPages,
  Changed,
  AppPageVersionSummary as Summary,
  AppPageVersion as Version,
} from './schemas.ts';
import { updateAppPage } from './update.ts';
import { readPageWorkflowInputs } from './workflow-inputs.ts';

/** Fixed paths come before `:appPageID`, which would take them for an id. */
export const appPageRoutes = [
  tenantRoute({
    name: 'listAppPages',
    method: 'get',
    path: '/app-pages',
    summary: 'List app pages',
    description: 'Returns the app pages the caller may read, newest first.',
    permission: 'appPage.list',
    filter: true,
    query: AppPageList,
    response: AppPages,
    errors: ['413'],

    async handle({ query, em, visible }) {
      const { search, folderID } = query;
      const where: FilterQuery<Entity> = {
        ...(await visible('appPage.read')),
        ...(search && { appPageTitle: containing(search) }),
        ...(folderID && { folderID }),
      };
      const { rows, fields } = await findPage(em, Entity, { where, query, large: ['appPageConfig'] });
      return { appPages: rows.map(presentAppPage), ...fields, message: 'App pages found' };
    },
  }),

  createAppPage,

  tenantRoute({
    name: 'getAppPageSchema',
    method: 'get',
    path: '/app-pages/schemas',
    summary: 'Get the schema of app pages',
    description: 'Returns a JSON Schema of `appPageConfig`.',
    permission: 'appPage.list',
    filter: true,
    response: AssetSchema,

    async handle() {
      const schemas = describeAsset('appPage', 'What a page shows and binds', AppPageConfig);
      return { schemas, message: 'App page schema' };
    },
  }),

  tenantRoute({
    name: 'getAppPage',
    method: 'get',
    path: '/app-pages/:appPageID',
    summary: 'Get an app page',
    description: 'Returns an app page.',
    permission: 'appPage.read',
    object: ({ params }) => `appPage:${params.appPageID}`,
    params: AppPageID,
    response: Changed,
    etag: ({ appPage }) => appPage.versionNumber,

    async handle({ params, em }) {
      return { appPage: presentAppPage(await getAppPage(em, params.appPageID)), message: 'App page found' };
    },
  }),

  updateAppPage,

  tenantRoute({
    name: 'deleteAppPage',
    method: 'delete',
    path: '/app-pages/:appPageID',
    summary: 'Delete an app page',
    description: 'Deletes an app page with its versions. Its widgets stay.',
    permission: 'appPage.delete',
    object: ({ params }) => `appPage:${params.appPageID}`,
    params: AppPageID,
    response: z.object({ message: Message }),
    conditional: true,

    async handle({ params, em, requireMatch }) {
      return em.transactional(async (tx) => {
        const appPage = await getAppPage(tx, params.appPageID, { lock: true });
        requireMatch(appPage.versionNumber);
        await deleteAsset(tx, 'appPage', appPage);
        return { message: 'App page deleted' };
      });
    },
  }),

  cloneAppPage,
  ...versionRoutes({
    resource: 'appPage',
    noun: 'an app page',
    name: 'AppPage',
    path: '/app-pages/:appPageID',
    ids: { asset: 'appPageID', version: 'appPageVersionID' },
    Summary,
    Version,
    get: getAppPage,
    presentSummary: presentVersionSummary,
    presentVersion,
    contentOf: ({ title, description = null, config }) => ({
      appPageTitle: title,
      appPageDescription: description,
      appPageConfig: config,
    }),
  }),
  restoreAppPage,
  readPageContent,
  readPageFile,
  readPageData,
  runPageQuery,
  runPageWorkflow,
  readPageRun,
  readPageWorkflowInputs,
  listPageQuestions,
  readPageQuestion,
  answerPageQuestion,
];
