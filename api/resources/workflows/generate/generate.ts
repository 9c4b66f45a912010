import type { z } from 'zod';
import { asData } from '#shared/apps/ai/data.ts';
import type { JsonObject } from '#shared/core/json.ts';
import { describeIssues } from '#shared/core/schema/issues.ts';
import { parseValue } from '#shared/core/schema/parse.ts';
import type { EntityManager } from '#shared/entities/orm.ts';
import { assumptionsIn, type Checked, generateChecked, sentencesIn } from '../../../ai/generate.ts';
import { tenantRoute } from '../../../context/routes.ts';
import { authorAccess, checkOptions } from '../../../graphs/graph.ts';
import { findUnknownFields } from '../../../http/request/unknown-fields.ts';
import { graphFaults, type Problem, permissionProblems, problemsIn, variableProblems } from '../plan/problems.ts';
import { describeAssets } from './assets.ts';
import { instructions } from './instructions.ts';
import { GeneratedGraph, WorkflowGenerate, WorkflowGeneration } from './schemas.ts';

export const generateWorkflow = tenantRoute({
  name: 'generateWorkflow',
  method: 'post',
  path: '/workflows/aigenerate',
  summary: 'Generate a workflow',
  description:
    'A language model writes a workflow from a description, with the queries and workflows that the caller may execute. The graph passes the checks of saving; it is neither saved nor run. `missing` says what it names that does not exist yet or that the caller may not use, and `assumptions` what the model took for granted.',
  access: () => [
    { permission: 'workflow.create', object: 'workflow:*' },
    { permission: 'ai.execute', object: 'ai:*' },
  ],
  body: WorkflowGenerate,
  response: WorkflowGeneration,
  errors: ['409', '429', '502', '504'],
  idempotent: false,

  async handle(
    { body: { aiPrompt }, em, tenantID, caller, signal, visible, require, holds },
    { pool, messaging: { producer } },
  ) {
    const assets = await describeAssets({ em, pool, visible, holds });
    const { graph, assumptions, missing } = await generateChecked({
      ...{ tenantID, caller, signal, producer, purpose: 'workflow' },
      instructions: instructions(),
      prompt: `${asData('assets', assets)}\n\nThe request:\n${aiPrompt}`,
      check: (object) => checkCandidate(em, object),
    });
    const refused = await permissionProblems(authorAccess(graph.workflowNodes, graph.workflowOptions), { require });
    return {
      workflow: { ...graph, draft: true as const },
      missing: [...missing, ...refused],
      assumptions,
      message: 'Workflow generated; it is not saved',
    };
  },
});

type Graph = z.output<typeof GeneratedGraph>;

interface Candidate {
  graph: Graph;
  missing: Problem[];
  assumptions: string[];
}

/**
 * Makes the same checks as saving. An asset that the graph names and the tenant lacks is `missing`; everything else is a
 * fault.
 */
async function checkCandidate(em: EntityManager, object: JsonObject): Promise<Checked<Candidate>> {
  const { assumptions: _assumed, missing: _lacking, ...candidate } = object;
  const parsed = parseValue(GeneratedGraph, candidate);
  if (!parsed.success) return { faults: describeIssues(parsed.issues) };
  const unknown = findUnknownFields([GeneratedGraph], candidate).fields;
  if (unknown.length > 0)
    return { faults: describeIssues(unknown.map(({ path }) => ({ path, message: 'is unknown' }))) };
  const graph = parsed.data;
  const { workflowNodes: nodes, workflowEdges: edges, workflowOptions: options } = graph;
  const { isSound, problems } = await graphFaults(em, { nodes, edges, options });
  if (!isSound) return { faults: problems.map(({ path, message }) => `${path}: ${message}`).join('; ') };
  const missing = [
    ...problems,
    ...(await variableProblems(em, { nodes, edges, options })),
    ...(await checkOptions(em, options).then(
      () => [],
      (error) => problemsIn(error, 'missing'),
    )),
    ...sentencesIn(object.missing).map((message): Problem => ({ kind: 'missing', message })),
  ];
  return { value: { graph, missing, assumptions: assumptionsIn(object) } };
}
