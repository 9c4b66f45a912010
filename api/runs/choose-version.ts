import type { WorkflowStatus } from '#shared/access/account-status.ts';
import { runSync } from '#shared/concurrency/cooperative.ts';
import { AppError } from '#shared/core/errors.ts';
import type { Pool } from '#shared/db/pool.ts';
import type { EntityManager } from '#shared/entities/orm.ts';
import { WorkflowVersion } from '#shared/entities/tables/workflow-version.ts';
import { compileGraph } from '#shared/workflow/graph/graph.ts';
import { accessTo, checkGraph, graphOf } from '../graphs/graph.ts';
import { findLatestID, findVersionToRun, type VersionName } from '../graphs/workflow-versions.ts';
import type { Access } from '../http/route/input.ts';
import { TENANT_PREFIX } from '../http/route/route.ts';
import type { ExecutableVersion, ReadExecutableVersion } from './executable-versions.ts';

interface VersionRequest {
  params: { workflowID: string };
  tenantID: string;
  workflow: WorkflowStatus | undefined;
  readonly em: EntityManager;
  require(access: readonly Access[]): Promise<void>;
}

interface Services {
  pool: Pool;
  runs: { executableVersion: ReadExecutableVersion };
}

interface Chosen {
  versionID: string;
  version: ExecutableVersion;
}

/**
 * The version of a workflow to execute: the named one, or else the published one. Throws if it cannot run, or the caller
 * may not run it.
 */
export async function chooseVersion(
  versionRequest: VersionRequest,
  { pool, runs: { executableVersion } }: Services,
  name: VersionName | undefined,
): Promise<Chosen> {
  const { params, tenantID, workflow } = versionRequest;
  const { workflowID } = params;
  if (!workflow) throw new AppError('NOT_FOUND', 'Workflow not found');
  if (workflow.isDisabled) throw new AppError('CONFLICT', 'Workflow is disabled');

  const named = name === undefined ? undefined : await findVersionToRun(pool, { tenantID, workflowID }, name);
  if (name !== undefined && !named) throw new AppError('NOT_FOUND', 'Version not found');
  const versionID = named?.id ?? workflow.versionID;
  if (versionID === null) throw draftsOnly({ tenantID, workflowID }, await findLatestID(pool, tenantID, workflowID));

  const version = await executableVersion({ tenantID, versionID });
  // A graph is checked when it is published. A graph without nodes, or a draft, is checked here, which throws the list
  // of its faults.
  if (version.isEmpty) runSync(compileGraph([], []));
  if (named && !named.isChecked) await checkDraft(versionRequest.em, { versionID, workflowID });
  // Bound queries are not checked here: the permission to execute a workflow covers the queries with which it was saved.
  await versionRequest.require(accessTo(version.assets));
  return { versionID, version };
}

async function checkDraft(em: EntityManager, { versionID, workflowID }: Record<'versionID' | 'workflowID', string>) {
  const draft = await em.findOneOrFail(WorkflowVersion, { id: versionID });
  await checkGraph(em, graphOf(draft), workflowID);
}

function draftsOnly(workflow: Record<'tenantID' | 'workflowID', string>, versionID = ':versionID'): AppError {
  const base = `${TENANT_PREFIX.replace(':tenantID', workflow.tenantID)}/workflows/${workflow.workflowID}`;
  return new AppError(
    'CONFLICT',
    `This workflow has drafts only. Publish one with POST ${base}/versions/${versionID}/publish, or execute one with ?version=`,
    { details: { versionID } },
  );
}
