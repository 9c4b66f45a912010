import { z } from 'zod';
import { looseObject } from '#shared/core/record.ts';
import { tenantRoute } from '../../context/routes.ts';
import { Message } from '../../http/fields/response-parts.ts';
import { hasTemplate } from '../../pages/parameters.ts';
import { findPublished } from './new-run.ts';
import { bindingIn, creatorDenied, openPage, requireNoDraft } from './open-page.ts';
import { WorkflowAlias } from './run-schemas.ts';

const PageInput = looseObject({ key: z.string() }).meta({
  id: 'AppPageInput',
  examples: [{ key: 'reason', type: 'string', required: true }],
});

export const readPageWorkflowInputs = tenantRoute({
  name: 'getAppPageWorkflowInputs',
  method: 'get',
  path: '/app-pages/:appPageID/workflows/:workflowAlias/inputs',
  summary: 'Get the inputs of a workflow of an app page',
  description:
    'Returns what the workflow that the page binds under this alias declares about the inputs that the page leaves to its viewers, for a form. The caller needs the permission to read the page.',
  permission: 'appPage.read',
  object: ({ params }) => `appPage:${params.appPageID}`,
  params: WorkflowAlias,
  response: z.object({ inputDefinitions: z.array(PageInput), message: Message }),
  errors: ['409'],

  async handle({ params: { appPageID, workflowAlias }, em, tenantID, caller }, context) {
    const { page, mayCreator } = await openPage({ em, tenantID, caller }, context, appPageID);
    requireNoDraft(page);
    const { id, inputValues } = bindingIn(page, 'workflow', workflowAlias);
    if (!(await mayCreator('workflow.execute', `workflow:${id}`))) throw creatorDenied('workflow');
    const versionID = await findPublished(em, id);
    const version = await context.runs.executableVersion({ tenantID, versionID });
    const isOpen = (key: string) => Object.hasOwn(inputValues, key) && hasTemplate(inputValues[key] ?? null);
    const inputDefinitions = version.inputDefinitions.filter(({ key }) => isOpen(key));
    return { inputDefinitions, message: 'Inputs found' };
  },
});
