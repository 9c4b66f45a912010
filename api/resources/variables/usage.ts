import { z } from 'zod';
import { Workflow } from '#shared/entities/tables/workflow.ts';
import { tenantRoute } from '../../context/routes.ts';
import { exampleIDs } from '../../http/fields/example-ids.ts';
import { getVariable } from './find.ts';
import { VariableID } from './schemas.ts';
import { findUses } from './uses.ts';

/** Workflows that are named; further ones are only counted. */
const SHOWN = 200;

const exampleUsage = {
  workflows: [{ workflowID: exampleIDs.workflowID, workflowTitle: 'Approve an order', isPublished: true }],
  others: 0,
};

const VariableUser = z
  .object({
    workflowID: z.uuid(),
    workflowTitle: z.string(),
    isPublished: z.boolean().describe('Whether the published version uses it, and not only a later draft'),
  })
  .meta({ id: 'VariableUser' });

const Usage = z
  .object({
    workflows: z.array(VariableUser),
    others: z.int().describe('How many more there are: the caller may not read them, or the list is too long'),
  })
  .meta({ id: 'VariableUsage', examples: [exampleUsage] });

export const readVariableUsage = tenantRoute({
  name: 'getVariableUsage',
  method: 'get',
  path: '/variables/:variableID/usage',
  summary: 'Get the usage of a variable',
  description:
    'Returns the workflows whose published or latest version names the variable: in templates, in code, or as the secret of the completion webhook. A name that code computes is not found.',
  permission: 'variable.read',
  object: ({ params }) => `variable:${params.variableID}`,
  params: VariableID,
  response: Usage,

  async handle({ params, em, tenantID, visible }, { pool }) {
    const { name } = await getVariable(em, params.variableID);
    const uses = new Map((await findUses(pool, tenantID, name)).map(({ id, isPublished }) => [id, isPublished]));
    const page = { fields: ['id', 'title'] as const, limit: SHOWN, orderBy: { createdAt: 'desc' as const } };
    const found = await em.find(Workflow, { id: { $in: [...uses.keys()] }, ...(await visible('workflow.read')) }, page);
    const workflows = found.map(({ id, title }) => ({
      workflowID: id,
      workflowTitle: title,
      isPublished: uses.get(id) ?? false,
    }));
    return { workflows, others: uses.size - workflows.length };
  },
});
