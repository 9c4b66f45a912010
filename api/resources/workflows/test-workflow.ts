import { z } from 'zod';
import { Workflow } from '#shared/db/entities/workflow.ts';
import { resolveInputs } from '#shared/workflow/inputs.ts';
import { invalid } from '#shared/workflow/issues.ts';
import { governRun } from '#shared/workflow/limits.ts';
import { runTimeoutMs, WorkflowOptions } from '#shared/workflow/options.ts';
import { tenantRoute } from '../../http/route.ts';
import { authorAccess, checkGraph, writeVersion } from './graph.ts';
import { testSpellings, WorkflowTest } from './schemas.ts';

export const testWorkflow = tenantRoute({
  name: 'testWorkflow',
  method: 'post',
  path: '/workflows/test',
  summary: 'Run a graph that is not stored',
  description: 'Starts a test run of the given graph.',
  access: ({ body }) => [
    { permission: 'workflow.test', object: `workflow:${body.workflowID ?? '*'}` },
    ...authorAccess(body.nodes),
  ],
  body: WorkflowTest,
  spellings: testSpellings,
  response: z.object({ instanceID: z.uuid(), isTest: z.literal(true) }),
  idempotent: 'handler',

  async handle({ body, caller, em, tenantID, idempotency }, { runs }) {
    const { nodes, edges, workflowID, args } = body;
    if (workflowID && !(await em.findOne(Workflow, { id: workflowID }, { fields: ['id'] })))
      throw invalid([{ path: ['workflowID'], message: 'there is no such workflow' }]);
    await checkGraph(em, { nodes, edges }, workflowID ?? undefined);
    const options = body.options ?? WorkflowOptions.parse({});
    const input = resolveInputs(options.inputDefinitions, args, { field: 'args' });

    const version = writeVersion(em, { tenantID, workflowID: null, caller }, { nodes, edges, options });
    await em.flush();
    const run = { tenantID, workflowID, versionID: version.id, caller, input, timeoutMs: runTimeoutMs(options) };
    const governed = governRun(options, { workflowID: workflowID ?? version.id, caller, input });
    const { instanceID } = await runs.accept({ ...run, ...governed, isTest: true }, idempotency);
    return { instanceID, isTest: true as const };
  },
});
