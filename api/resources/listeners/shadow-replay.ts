import type { z } from 'zod';
import { runCooperatively } from '#shared/concurrency/cooperative.ts';
import { AppError } from '#shared/core/errors.ts';
import { newID } from '#shared/core/ids.ts';
import { isJsonObject } from '#shared/core/json.ts';
import type { Pool } from '#shared/db/pool.ts';
import type { EntityManager } from '#shared/entities/orm.ts';
import { ListenerEvent } from '#shared/entities/tables/listener-event.ts';
import { WorkflowInstance } from '#shared/entities/tables/workflow-instance.ts';
import { WorkflowVersion } from '#shared/entities/tables/workflow-version.ts';
import { compileGraph, type WorkflowEdge, type WorkflowNode } from '#shared/workflow/graph/graph.ts';
import { findNodeKind } from '#shared/workflow/nodes/index.ts';
import { namedAssets } from '#shared/workflow/nodes/named-assets.ts';
import { WorkflowOptions } from '#shared/workflow/options.ts';
import { isTerminal } from '#shared/workflow/progress/status.ts';
import { tenantRoute } from '../../context/routes.ts';
import { findLatestID, findVersionToRun, type VersionName } from '../../graphs/workflow-versions.ts';
import type { Access } from '../../http/route/input.ts';
import { newTestRun } from '../../runs/test-run.ts';
import { compareRuns } from './compare-runs.ts';
import { EventID } from './event-schemas.ts';
import { findEvent } from './events.ts';
import { Shadow, ShadowAction, ShadowID, ShadowQuery, ShadowReplay } from './shadow-schemas.ts';

const replayInShadow = tenantRoute({
  name: 'shadowReplayListenerEvent',
  method: 'post',
  path: '/listeners/:listenerID/events/:eventID/shadow-replay',
  summary: 'Replay a past event in shadow',
  description:
    'Runs a version of the workflow, which may be a draft, with the input of the run that an event has started, and tells what differs. It is a test run by the caller whose writes are refused; nothing else of the event is done again. It needs `workflow.read` and `workflow.test`, and what executing the version does.',
  permission: 'listener.execute',
  object: ({ params }) => `listener:${params.listenerID}`,
  params: EventID,
  query: ShadowQuery,
  body: ShadowReplay,
  response: Shadow,
  errors: ['409'],
  idempotent: 'handler',

  async handle({ params, query, body, em, tenantID, caller, require, idempotency, signal }, context) {
    const { pool, runs } = context;
    const original = await findOriginal(em, params, body.actionID);
    const { workflowID } = original;
    await require([onWorkflow('workflow.read', workflowID), onWorkflow('workflow.test', workflowID)]);
    const version = await findVersion({ em, pool }, { tenantID, workflowID }, body.version);
    const { nodes, options } = await graphOf(version);
    await require(callerAccess(nodes));

    const run = newTestRun({
      ...{ tenantID, workflowID, versionID: version.id, options, caller, args: original.input },
      mode: { dryRun: true },
    });
    const id = newID();
    using expected = runs.awaited.expect({ tenantID, instanceID: id });
    const { instanceID } = await runs.accept({ ...run, id, awaitedBy: runs.awaited.channel }, idempotency);
    using earlier = instanceID === id ? undefined : runs.awaited.expect({ tenantID, instanceID });
    earlier?.poll();
    if (query.wait > 0) await (earlier ?? expected).outcome(query.wait * 1_000, signal);
    return present({ em, pool }, { params, original, instanceID });
  },
});

const readShadow = tenantRoute({
  name: 'getShadowReplay',
  method: 'get',
  path: '/listeners/:listenerID/events/:eventID/shadow-replay/:shadowID',
  summary: 'Get a shadow replay',
  description:
    'Compares a test run of the workflow with the run that an event has started. It needs `workflow.read` too.',
  permission: 'listener.read',
  object: ({ params }) => `listener:${params.listenerID}`,
  params: ShadowID,
  query: ShadowAction,
  response: Shadow,
  errors: ['409'],

  async handle({ params, query, em, require }, { pool }) {
    const original = await findOriginal(em, params, query.actionID);
    await require([onWorkflow('workflow.read', original.workflowID)]);
    return present({ em, pool }, { params, original, instanceID: params.shadowID });
  },
});

export const shadowRoutes = [replayInShadow, readShadow];

type Original = WorkflowInstance & { workflowID: string };

/** The run that an action has started for the event of the path. */
async function findOriginal(
  em: EntityManager,
  params: z.output<typeof EventID>,
  actionID: string | undefined,
): Promise<Original> {
  const { id } = await findEvent(em, params);
  const fields = ['actions', 'instanceID'] as const;
  const event: Pick<ListenerEvent, 'actions' | 'instanceID'> = await em.findOneOrFail(
    ListenerEvent,
    { id },
    { fields, refresh: true },
  );
  const action = actionID === undefined ? undefined : event.actions?.[actionID];
  const named = isJsonObject(action) ? action.instanceID : undefined;
  const instanceID = actionID === undefined ? event.instanceID : named;
  if (typeof instanceID !== 'string') throw new AppError('CONFLICT', 'The event has started no run to compare with');
  const run = await em.findOne(WorkflowInstance, { id: instanceID });
  if (!run || !hasWorkflow(run)) throw new AppError('CONFLICT', 'The run that the event has started was deleted');
  return run;
}

function hasWorkflow(run: WorkflowInstance): run is Original {
  return typeof run.workflowID === 'string';
}

function onWorkflow(permission: 'workflow.read' | 'workflow.test', workflowID: string): Access {
  return { permission, object: `workflow:${workflowID}` };
}

async function findVersion(
  { em, pool }: { em: EntityManager; pool: Pool },
  owner: { tenantID: string; workflowID: string },
  name: VersionName | undefined,
): Promise<WorkflowVersion> {
  const latest = () => findLatestID(pool, owner.tenantID, owner.workflowID);
  const id = name === undefined ? await latest() : (await findVersionToRun(pool, owner, name))?.id;
  const found = id === undefined ? null : await em.findOne(WorkflowVersion, { id });
  if (!found) throw new AppError('NOT_FOUND', 'Version not found');
  return found;
}

/**
 * The graph of a version. Throws its faults, which a draft may have. Assets that do not exist fail their nodes, as the
 * diff shows.
 */
async function graphOf(version: WorkflowVersion) {
  // Safe casts: stored by the schemas of the same names.
  const [nodes, edges] = [version.nodes as WorkflowNode[], version.edges as WorkflowEdge[]];
  await runCooperatively(compileGraph(nodes, edges));
  return { nodes, options: WorkflowOptions.parse(version.options) };
}

/** Permissions that the nodes require of the caller of a run. */
function callerAccess(nodes: readonly WorkflowNode[]): Access[] {
  return nodes.flatMap(({ type, data }) => {
    const definition = findNodeKind(type);
    const named = definition ? namedAssets(definition, data) : [];
    return named
      .filter(({ neededBy }) => neededBy === 'caller')
      .map((asset): Access => ({ permission: asset.permission, object: `${asset.type}:${asset.id}` }));
  });
}

interface Replayed {
  params: z.output<typeof EventID>;
  original: Original;
  instanceID: string;
}

async function present(
  { em, pool }: { em: EntityManager; pool: Pool },
  { params, original, instanceID }: Replayed,
): Promise<z.input<typeof Shadow>> {
  const where = { id: instanceID, workflowID: original.workflowID, isTest: true };
  const shadow = await em.findOne(WorkflowInstance, where, { refresh: true });
  if (!shadow) throw new AppError('NOT_FOUND', 'Run not found');
  const isOver = isTerminal(original.status) && isTerminal(shadow.status);
  return {
    eventID: params.eventID,
    original: presentRun(original),
    shadow: presentRun(shadow),
    diff: isOver ? await compareRuns(pool, original, shadow) : null,
  };
}

function presentRun({ id, versionID, status, error }: WorkflowInstance) {
  const about = error && { code: error.code, message: error.message, nodeID: error.nodeID };
  return { instanceID: id, versionID, status, error: about ?? null };
}
