import type { z } from 'zod';
import { AppError } from '#shared/core/errors.ts';
import { Workflow } from '#shared/entities/tables/workflow.ts';
import type { WorkflowInstance } from '#shared/entities/tables/workflow-instance.ts';
import { WorkflowVersion } from '#shared/entities/tables/workflow-version.ts';
import { planRerun, previewRerun } from '#shared/runs/plan-rerun.ts';
import type { ApiContext } from '../../../context/context.ts';
import { tenantRoute } from '../../../context/routes.ts';
import type { TenantInput } from '../../../http/route/input.ts';
import { chooseVersion } from '../../../runs/choose-version.ts';
import { directRun } from '../../../runs/direct-run.ts';
import { findReadableRun } from '../../../runs/find-run.ts';
import { runAliases } from '../../../runs/run-inputs.ts';
import { InstanceID } from '../../../runs/run-schemas.ts';
import { findTags } from '../find-names.ts';
import { Rerun, RerunAnswer, RerunPreview } from './schemas.ts';

export const rerunInstance = tenantRoute({
  name: 'rerunWorkflowInstance',
  method: 'post',
  path: '/workflows/instances/:instanceID/rerun',
  summary: 'Re-run a run',
  description:
    'Starts a run that repeats another. Results from before the place where it begins are taken over and not computed again; the other run must have ended then. It needs `workflow.read` too, unless the caller started that run.',
  permission: 'workflow.execute',
  filter: true,
  params: InstanceID,
  takesData: true,
  body: Rerun,
  aliases: runAliases,
  response: RerunAnswer,
  idempotent: 'handler',

  async handle(input, context) {
    const { body, caller, tenantID, idempotency } = input;
    const { pool, runs } = context;
    const { source, workflowID, versionID, version } = await prepare(input, context);
    const { reusable, changed } = await planRerun(pool, source, { versionID, from: body.from });
    const tags = body.tags ?? (await findTags(pool, [source])).get(source.id) ?? [];
    const args = body.args ?? source.input;
    const run = directRun(version, { tenantID, workflowID, versionID, caller, args });

    const answer = await runs.acceptRerun({
      run: { ...run, tags, rerunOf: source.id, reusable },
      claim: idempotency,
      answer: (reused) => ({ instanceID: run.id, rerunOf: source.id, reused: [...reused], changed }),
    });
    return RerunAnswer.parse(answer);
  },
});

export const previewRerunOfInstance = tenantRoute({
  name: 'previewWorkflowRerun',
  method: 'post',
  path: '/workflows/instances/:instanceID/rerun/preview',
  summary: 'Preview a re-run',
  description:
    'Takes what a re-run takes, starts nothing, and returns which results would be taken over and which nodes executed. It is refused where the re-run would be.',
  permission: 'workflow.execute',
  filter: true,
  params: InstanceID,
  takesData: true,
  body: Rerun,
  aliases: runAliases,
  response: RerunPreview,
  // Repeating it changes nothing.
  idempotent: false,

  async handle(input, context) {
    const { body, caller, tenantID } = input;
    const { source, workflowID, versionID, version } = await prepare(input, context);
    // Throws if the version does not take this input.
    directRun(version, { tenantID, workflowID, versionID, caller, args: body.args ?? source.input });
    const preview = await previewRerun(context.pool, source, { versionID, from: body.from });
    const found = await input.em.findOneOrFail(WorkflowVersion, { id: versionID }, { fields: ['number'] });
    return { ...preview, versionID, versionNumber: found.number ?? null };
  },
});

type Input = Pick<
  TenantInput<typeof InstanceID, z.ZodUndefined, typeof Rerun>,
  'params' | 'body' | 'caller' | 'tenantID' | 'em' | 'require'
>;

/** The run, and the version that is to be executed, if the caller may execute it. */
async function prepare({ params, body, caller, tenantID, em, require }: Input, context: ApiContext) {
  const source = await findReadableRun({ em, require, caller }, params.instanceID);
  const workflowID = requireWorkflow(source);
  if (source.mapID) throw new AppError('CONFLICT', `This is a chunk of a map: re-run the run ${source.parentID}`);
  await require([{ permission: 'workflow.execute', object: `workflow:${workflowID}` }]);
  const workflow = await em.findOne(Workflow, { id: workflowID });
  if (!workflow) throw new AppError('CONFLICT', 'The workflow of this run was deleted');
  const versionRequest = {
    params: { workflowID },
    tenantID,
    workflow: { versionID: workflow.versionID ?? null, isDisabled: workflow.isDisabled },
    em,
    require,
  };
  const { versionID, version } = await chooseVersion(versionRequest, context, versionNamed(body.version, source));
  return { source, workflowID, versionID, version };
}

function requireWorkflow({ isTest, workflowID }: WorkflowInstance): string {
  if (!isTest && workflowID) return workflowID;
  throw new AppError('CONFLICT', 'The test of a graph cannot be re-run: test it again');
}

/** The id or number of the version to run; undefined for the published one. */
function versionNamed(version: string | number, { versionID }: WorkflowInstance): string | number | undefined {
  if (version === 'published') return undefined;
  return version === 'original' ? versionID : version;
}
