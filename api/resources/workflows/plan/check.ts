import { z } from 'zod';
import { AppError } from '#shared/core/errors.ts';
import { idOf } from '#shared/core/schema/reference.ts';
import { Workflow } from '#shared/entities/tables/workflow.ts';
import { tenantRoute } from '../../../context/routes.ts';
import { authorAccess, checkOptions } from '../../../graphs/graph.ts';
import { exampleWorkflowCreate } from '../examples.ts';
import { Edges, Nodes, Options } from '../schemas.ts';
import { graphFaults, permissionProblems, problemsIn, variableProblems, workflowProblems } from './problems.ts';
import { PlanProblem } from './schemas.ts';

const { workflowNodes, workflowEdges } = exampleWorkflowCreate;

const WorkflowCheck = z
  .object({
    workflowID: idOf('workflow').nullish().describe('The stored workflow whose graph this is to become'),
    workflowNodes: Nodes,
    workflowEdges: Edges,
    workflowOptions: Options.prefault({}),
  })
  .meta({ id: 'WorkflowCheck', examples: [{ workflowNodes, workflowEdges }] });

const example = {
  kind: 'graph' as const,
  nodeID: 'order',
  path: 'workflowNodes.1.data.dataQueryID',
  message: 'is required',
};

export const checkWorkflow = tenantRoute({
  name: 'checkWorkflow',
  method: 'post',
  path: '/workflows/check',
  summary: 'Check a graph',
  description:
    'Makes the checks of publishing on a graph that is not stored, and tells what it names that does not exist or that the caller may not use. Nothing is saved or run.',
  access: ({ body: { workflowID } }) => [
    workflowID
      ? { permission: 'workflow.update', object: `workflow:${workflowID}` }
      : { permission: 'workflow.create', object: 'workflow:*' },
  ],
  body: WorkflowCheck,
  response: z.object({
    problems: z.array(PlanProblem.meta({ examples: [example] })).describe('None: the graph could be published'),
  }),
  idempotent: false,

  async handle({
    body: { workflowID, workflowNodes: nodes, workflowEdges: edges, workflowOptions: options },
    em,
    require,
  }) {
    if (workflowID && !(await em.findOne(Workflow, { id: workflowID }, { fields: ['id'] })))
      throw new AppError('NOT_FOUND', 'Workflow not found');
    const graph = { nodes, edges, options };
    const { problems } = await graphFaults(em, graph, workflowID ?? undefined);
    problems.push(...(await variableProblems(em, graph)), ...(await workflowProblems(em, graph)));
    await checkOptions(em, options, workflowID ?? undefined).catch((error) =>
      problems.push(...problemsIn(error, 'missing')),
    );
    problems.push(...(await permissionProblems(authorAccess(nodes, options), { require })));
    return { problems };
  },
});
