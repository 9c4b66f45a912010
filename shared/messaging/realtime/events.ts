import { z } from 'zod';
import { Json, JsonObject } from '../../core/json.ts';
import { looseObject } from '../../core/record.ts';
import { MapProgress } from '../../workflow/map-plan.ts';
import { LogLevel } from '../../workflow/nodes/kinds/log.ts';
import { IterationPath } from '../../workflow/progress/iteration-path.ts';
import { NodeStatus, RunStatus } from '../../workflow/progress/status.ts';
import { AssetChange } from './asset-changes.ts';
import { clientEvents } from './client-events.ts';
import { ImportJobUpdate } from './import-jobs.ts';
import { IntakePauseUpdate } from './intake-pause.ts';
import { PagePush } from './listener-events.ts';
import { ListenerTest } from './listener-tests.ts';
import { Notification } from './notifications.ts';
import { QuestionChange, RunChange } from './run-changes.ts';
import { AttemptErrorShape, RunErrorShape, RunWait } from './run-shapes.ts';
import { widgetEvents } from './widget-events.ts';

const ofChange = {
  instanceID: z.uuid(),
  seq: z.int(),
  /** Another message of the same change follows. */
  more: z.literal(true).optional(),
};

/**
 * Events that the server sends to clients. Every event of a run carries the run's `seq`, which counts its visible changes from
 * 1 without a gap. Several messages may belong to one change and share its number: the lines that a node has printed, its outcome, its
 * question, and that the run goes on or waits. All but the last of them have `more`: a client has the whole change only with the last one.
 * An output above `MAX_INLINE_LENGTH` characters is omitted and `outputOmitted` is set: clients read it with
 * `GET …/workflows/instances/{instanceID}`.
 */
export const serverEvents = {
  workflow_node_update: z.object({
    ...ofChange,
    nodeID: z.string(),
    iteration: z.int(),
    frame: IterationPath,
    attempt: z.int(),
    status: NodeStatus,
    exit: z.string().nullable(),
    output: Json,
    outputOmitted: z.boolean().optional(),
    error: AttemptErrorShape.nullable(),
    reusedFrom: z.uuid().optional(),
    isPinned: z.boolean().optional(),
    refusedWrite: z.string().optional(),
    progress: MapProgress.optional(),
    at: z.iso.datetime(),
  }),
  workflow_status_update: z.object({
    ...ofChange,
    status: RunStatus,
    output: Json,
    outputOmitted: z.boolean().optional(),
    error: RunErrorShape.nullable(),
    waiting: RunWait.optional(),
    at: z.iso.datetime(),
  }),
  workflow_data_collection_request: z.object({
    ...ofChange,
    nodeID: z.string(),
    iteration: z.int(),
    frame: IterationPath,
    collectionRequestID: z.uuid(),
    collectionType: z.string(),
    collectionConfig: JsonObject,
  }),
  /** A line that a node has written; sent with the outcome of its attempt, and before it. */
  workflow_log: z.object({
    ...ofChange,
    nodeID: z.string(),
    iteration: z.int(),
    frame: IterationPath,
    attempt: z.int(),
    level: LogLevel,
    message: z.string(),
    data: Json.optional(),
    at: z.iso.datetime(),
  }),
} as const;

/** Events that the server sends to sockets in the room of a tenant, or to all sockets of a user. */
export const tenantEvents = {
  /** To those who may list and read the asset; many changes of a moment are sent as one event. */
  asset_changed: AssetChange,
  /** To those who may watch the run: it is new, or its status has changed. Sent within about a second, for a tenant's newest runs only. */
  workflow_run_changed: RunChange,
  /** To those who may answer: a question waits for an answer, or no longer does. */
  workflow_data_collection_changed: QuestionChange,
  /** The rules of the tenant have changed, and with them perhaps what the user may do; within about a second. */
  permissions_changed: z.object({ tenantID: z.uuid() }),
  /** To all sockets of its user, whether they are in a room or not. */
  notification: Notification,
  /** To all sockets of the user who began the job, at most twice a second. */
  import_job_update: ImportJobUpdate,
  /** To those who may answer: a question is still open. */
  workflow_data_collection_reminder: z.object({
    instanceID: z.uuid(),
    nodeID: z.string(),
    iteration: z.int(),
    frame: IterationPath,
    collectionRequestID: z.uuid(),
    title: z.string().nullable(),
    /** The link by which its holder answers without signing in; null if the node does not allow it. */
    answerURL: z.string().nullable(),
    number: z.int(),
    of: z.int(),
  }),
} as const;

/** Events that the server sends to sockets in other rooms. They matter only now: slow sockets, and clients that are not connected, miss them. */
export const roomEvents = {
  /** To `tenant:<tenantID>`. */
  workflow_intake_update: IntakePauseUpdate,
  /** To `listener:app_page:<appPageID>`. */
  listener_event: PagePush.omit({ tenantID: true, appPageID: true }),
  /** To `listener_test:<listenerID>`. */
  listener_test_event: ListenerTest.omit({ tenantID: true }),
} as const;

/** Events that the server sends to operators, in the namespace `/operator`. The OpenAPI document has their fields. */
export const operatorEvents = {
  /** To `fleet`, whenever the server has read the state of the fleet: the response of `GET /api/v1/operator/fleet`. */
  fleet_update: looseObject({}),
  /** To `fleet:<tenantID>`, at the same times: the response of `GET /api/v1/operator/fleet/tenants/{tenantID}`. */
  fleet_tenant_update: looseObject({ tenantID: z.uuid() }),
} as const;

/** Every event on sockets, by who sends it. Contracts: payloads only grow. */
export const events = {
  client: clientEvents,
  server: { ...serverEvents, ...tenantEvents, ...roomEvents, ...widgetEvents, ...operatorEvents },
} as const;

export type AnyServerEvent = keyof typeof events.server;
export type AnyServerPayload<E extends AnyServerEvent> = z.input<(typeof events.server)[E]>;

export type ServerEvent = keyof typeof serverEvents;
export type ServerPayload<E extends ServerEvent> = z.input<(typeof serverEvents)[E]>;
export type ServerMessage = { [E in ServerEvent]: { event: E; payload: ServerPayload<E> } }[ServerEvent];
