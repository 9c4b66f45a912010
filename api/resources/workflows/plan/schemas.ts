import { z } from 'zod';
import { PlannedEdge, PlannedNode } from '#shared/messaging/queues/workflow-plans.ts';
import { exampleIDs } from '../../../http/fields/example-ids.ts';
import { VersionName } from '../../../http/fields/version-name.ts';
import { exampleRunInputs } from '../../../runs/examples.ts';
import { argsOf, runInputs } from '../../../runs/run-inputs.ts';

export const PlanQuery = z.object({
  version: VersionName.optional().describe(
    'The id or the number of a version, which may be a draft; without it, the published one, else the one saved last',
  ),
});

/** An empty body plans a run without inputs. */
export const WorkflowPlan = z
  .object(runInputs)
  .optional()
  .transform((body, check) => ({ args: argsOf(body, check) ?? {} }))
  .meta({ id: 'WorkflowPlan', examples: [exampleRunInputs] });

export const PlanProblem = z
  .object({
    kind: z.enum(['input', 'graph', 'missing', 'variable', 'query', 'workflow']),
    nodeID: z.string().optional(),
    path: z.string().optional().describe('Of the input, or of the field'),
    message: z.string(),
  })
  .meta({ id: 'PlanProblem', description: 'Why the run could not begin, or not do what it is meant to' });

const examplePlan = {
  versionID: exampleIDs.versionID,
  versionNumber: 3,
  problems: [{ kind: 'variable' as const, nodeID: 'call', path: 'url', message: 'there is no variable "shop"' }],
  nodes: [
    { nodeID: 'start', kind: 'start', isReached: 'yes' as const, exit: 'output' },
    {
      nodeID: 'order',
      kind: 'dataQuery',
      isReached: 'yes' as const,
      exit: 'success',
      values: [{ path: 'inputValues.id', value: 4711 }],
    },
    {
      nodeID: 'ask',
      kind: 'dataCollection',
      isReached: 'depends' as const,
      dependsOn: [{ nodeID: 'order', on: 'output' as const }],
    },
  ],
  edges: [{ edgeID: 'e1', isTaken: 'yes' as const }],
};

export const WorkflowPlanned = z
  .object({
    versionID: z.uuid(),
    versionNumber: z.int().nullable(),
    problems: z.array(PlanProblem),
    nodes: z.array(PlannedNode).describe('In the order in which a run could reach them; none if the graph has faults'),
    edges: z.array(PlannedEdge),
  })
  .meta({ id: 'WorkflowPlanned', examples: [examplePlan] });
