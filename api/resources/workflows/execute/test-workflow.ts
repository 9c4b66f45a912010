import { z } from 'zod';
import { AppError } from '#shared/core/errors.ts';
import { invalid } from '#shared/core/schema/issues.ts';
import type { Pool } from '#shared/db/pool.ts';
import { inEntityTransaction } from '#shared/db/query.ts';
import type { EntityManager } from '#shared/entities/orm.ts';
import { Workflow } from '#shared/entities/tables/workflow.ts';
import { WorkflowVersion } from '#shared/entities/tables/workflow-version.ts';
import { WorkflowOptions } from '#shared/workflow/options.ts';
import { readTestMode } from '#shared/workflow/test-mode.ts';
import { tenantRoute } from '../../../context/routes.ts';
import { authorAccess, callerAccess, checkGraph, graphOf, writeVersion } from '../../../graphs/graph.ts';
import { findLatestID, findVersionToRun, requireVersionCapacity } from '../../../graphs/workflow-versions.ts';
import { newTestRun } from '../../../runs/test-run.ts';
import { requireNamedTools } from '../named-tools.ts';
import { testAliases, WorkflowTest } from '../schemas.ts';

export const testWorkflow = tenantRoute({
  name: 'testWorkflow',
  method: 'post',
  path: '/workflows/test',
  summary: 'Test a workflow',
  description:
    'Starts a test run of a graph that is not stored, or of a saved version of a workflow, which may be a draft. Outputs of nodes can be given (`pinned`), writes refused (`dryRun`), and the run ended after a node (`stopAfter`).',
  access: ({ body: { given, saved } }) => [
    { permission: 'workflow.test', object: `workflow:${(given ?? saved).workflowID ?? '*'}` },
    ...(given ? authorAccess(given.nodes) : []),
  ],
  takesData: true,
  body: WorkflowTest,
  aliases: testAliases,
  response: z.object({ instanceID: z.uuid(), isTest: z.literal(true) }),
  idempotent: 'handler',

  async handle({ body, caller, identity, em, tenantID, idempotency, require }, context) {
    const { runs, pool } = context;
    const { given, saved, args } = body;
    const { workflowID } = given ?? saved;
    if (workflowID && !(await em.findOne(Workflow, { id: workflowID }, { fields: ['id'] })))
      throw invalid([{ path: ['workflowID'], message: 'there is no such workflow' }]);
    const { found, graph } = given ? givenGraph(given) : await savedGraph({ em, pool }, { tenantID, ...saved });
    // Outputs that the caller gives decide what later nodes do, so the caller needs the permissions of an author.
    const isAuthor = Object.keys(body.mode.pinned).length > 0;
    if (!found || isAuthor) await requireNamedTools(context, { tenantID, identity }, graph.nodes);
    if (found) await require(isAuthor ? authorAccess(graph.nodes) : callerAccess(graph.nodes));
    const { mode, issues } = readTestMode(await checkGraph(em, graph, workflowID ?? undefined), body.mode);
    if (issues.length > 0) throw invalid(issues);

    const version = found ?? writeVersion(em, { tenantID, workflowID: null, caller }, graph);
    // Throws the faults of the inputs, before the graph is written.
    const { options } = graph;
    const run = newTestRun({ tenantID, workflowID, versionID: version.id, options, caller, args, mode });
    await inEntityTransaction(em, async () => {
      await em.flush();
      if (!found) await requireVersionCapacity(em, tenantID);
    });
    const { instanceID } = await runs.accept(run, idempotency);
    return { instanceID, isTest: true as const };
  },
});

type Given = NonNullable<z.output<typeof WorkflowTest>['given']>;

function givenGraph({ nodes, edges, options }: Given) {
  return { found: null, graph: { nodes, edges, options: options ?? WorkflowOptions.parse({}) } };
}

interface Named {
  tenantID: string;
  workflowID: string;
  /** Undefined for the version that was saved last. */
  version: string | number | undefined;
}

async function savedGraph({ em, pool }: { em: EntityManager; pool: Pool }, { tenantID, workflowID, version }: Named) {
  const id =
    version === undefined
      ? await findLatestID(pool, tenantID, workflowID)
      : (await findVersionToRun(pool, { tenantID, workflowID }, version))?.id;
  const found = id === undefined ? null : await em.findOne(WorkflowVersion, { id });
  if (!found) throw new AppError('NOT_FOUND', 'Version not found');
  return { found, graph: graphOf(found) };
}
