import { z } from 'zod';
import { Moment } from '#shared/core/schema/moment.ts';
import { NumberText } from '#shared/core/schema/number-text.ts';
import { idOf } from '#shared/core/schema/reference.ts';
import { MapProgress } from '#shared/workflow/map-plan.ts';
import { IterationPath } from '#shared/workflow/progress/iteration-path.ts';
import { moreOfError } from '#shared/workflow/run-error.ts';
import { pageFields, pageQuery, standardPage } from '../../http/fields/paging.ts';
import { WorkError } from '../../http/fields/response-parts.ts';
import { VersionName } from '../../http/fields/version-name.ts';
import { exampleFilter } from '../../runs/examples.ts';
import { RunError, Status, StatusOfNode, Stored, Tag } from '../../runs/run-schemas.ts';
import { Waiting, WaitReason } from '../../runs/wait-schemas.ts';
import {
  exampleFailureHandling,
  exampleInstance,
  exampleInstanceSummary,
  exampleStarter,
  exampleTrigger,
} from './examples.ts';

const runFilter = {
  workflowID: idOf('workflow').optional(),
  parentInstanceID: idOf('run').optional(),
  root: idOf('run').optional().describe('This run and all that it started, at any depth'),
  status: Status.optional(),
  errorCode: z.string().max(64).optional(),
  tag: Tag.optional(),
  version: VersionName.optional().describe('The id of a version, or its number, which needs `workflowID`'),
  origin: z.enum(['workflow', 'appPage', 'listener', 'cron', 'direct', 'test']).optional(),
  batch: idOf('batch').optional().describe('The id of a batch'),
  rerunOf: idOf('run').optional().describe('Runs that repeat this one'),
  search: z
    .string()
    .trim()
    .min(1)
    .max(255)
    .optional()
    .describe(
      'Runs with this id, with an id that ends so (6 to 12 digits, among the newest 5,000), or with this tag (the newest 500); if there is none, runs of workflows whose titles contain it (the newest 50)',
    ),
  from: Moment.optional().describe('Accepted at this time or later'),
  to: Moment.optional().describe('Accepted before this time'),
};

export const InstanceList = z.object({
  ...pageQuery(standardPage),
  ...runFilter,
  isTest: z
    .enum(['true', 'false'])
    .transform((text) => text === 'true')
    .optional(),
});

/** The filter of a list, in a body. Strict: without a condition that is misspelt, all runs of the tenant would be re-run or cancelled. */
export const InstanceFilter = z
  .strictObject({ ...runFilter, isTest: z.boolean().optional() })
  .meta({ id: 'WorkflowInstanceFilter', examples: [exampleFilter] });

export const InstanceQuery = z.object({
  input: z
    .enum(['true', 'false'])
    .default('true')
    .transform((text) => text === 'true')
    .describe('`false` leaves out the input, for clients that have it and ask again and again how the run is'),
  afterSeq: NumberText(z.int().min(0).max(Number.MAX_SAFE_INTEGER))
    .prefault(0)
    .describe('The timeline begins after this event: the `nextSeq` of the answer before'),
  timelineLimit: NumberText(z.int().min(1).max(5_000)).prefault(1_000),
  outputs: z
    .enum(['small', 'full'])
    .default('small')
    .describe(
      '`small` leaves out of the timeline outputs that are stored, compressed, in more than 16 kB; `outputOmitted` says so. A page of the timeline has outputs of 8 MB together, or a single larger one: `nextSeq` leads on',
    ),
});

const MAX_STREAM_SECONDS = 3_600;

export const StreamQuery = z.object({
  lastSeq: NumberText(z.int().min(0).max(Number.MAX_SAFE_INTEGER))
    .optional()
    .describe('In place of `Last-Event-ID`, for clients that cannot set headers'),
  seconds: NumberText(z.number().min(0).max(MAX_STREAM_SECONDS))
    .prefault(MAX_STREAM_SECONDS)
    .describe('The stream ends after this time; the client connects again'),
});

const NodeError = WorkError.extend(moreOfError).meta({
  id: 'NodeError',
  examples: [{ code: 'NODE_FAILED', message: 'Error: no luck (line 3)', details: { line: 3, column: 7 } }],
});

export const Starter = z
  .object({ type: z.enum(['user', 'apiKey']), id: z.uuid(), userID: z.uuid().optional() })
  .meta({ id: 'RunStarter', description: 'A user, or an API key with its creator', examples: [exampleStarter] });

export const InstanceSummary = z
  .object({
    instanceID: z.uuid(),
    workflowID: z.uuid().nullable(),
    workflowTitle: z.string().nullable().describe('Null if the workflow was never stored or was deleted'),
    versionID: z.uuid().describe('The version whose graph the run has'),
    versionNumber: z.int().nullable().describe('Null for the graph of a test'),
    status: Status,
    isTest: z.boolean(),
    origin: z.string(),
    startedBy: Starter.nullable().describe('Null if a job, a listener or another run started it'),
    tags: z.array(z.string()),
    errorCode: z.string().nullable(),
    startAt: z.iso.datetime().nullable().describe('When it was to begin, if not at once'),
    batchID: z.uuid().nullable().describe('The batch that it belongs to'),
    rerunOf: z.uuid().nullable().describe('The run that it repeats'),
    parentInstanceID: z.uuid().nullable(),
    parentNodeID: z.string().nullable(),
    mapID: z.uuid().nullable().describe('The map of which the run is a chunk'),
    createdAt: z.iso.datetime(),
    startedAt: z.iso.datetime().nullable(),
    completedAt: z.iso.datetime().nullable(),
  })
  .meta({ id: 'WorkflowInstanceSummary', examples: [exampleInstanceSummary] });

export const Instances = z
  .object({ instances: z.array(InstanceSummary), ...pageFields })
  .meta({ id: 'WorkflowInstancePage' });

const ChildRun = z
  .object({
    instanceID: z.uuid(),
    status: Status,
    workflowID: z.uuid().nullable(),
    workflowTitle: z.string().nullable().describe('Null if the workflow was deleted'),
  })
  .meta({ id: 'ChildRun' });

const ReminderShown = z
  .object({ collectionRequestID: z.uuid(), number: z.int(), of: z.int() })
  .meta({ id: 'QuestionReminder' });

const TimelineEvent = z
  .object({
    seq: z.int(),
    nodeID: z.string(),
    iteration: z.int(),
    frame: IterationPath,
    attempt: z.int(),
    status: StatusOfNode,
    exit: z.string().nullable(),
    output: z.unknown(),
    outputOmitted: z.boolean().optional(),
    outputLength: z
      .int()
      .optional()
      .describe('Of an output that is omitted and above 64 kB: characters of its JSON text'),
    outputPreview: z.string().optional().describe('The first of them'),
    error: NodeError.nullable(),
    reusedFrom: z.uuid().optional().describe('The run that computed the result, if this one has taken it over'),
    isPinned: z
      .boolean()
      .optional()
      .describe('In a test run: the output was given with it, and the node was not executed'),
    refusedWrite: z.string().optional().describe('In a dry run: the write that the node would have made'),
    mapID: z.uuid().optional().describe('While the node works off items in chunks'),
    progress: MapProgress.optional(),
    child: ChildRun.optional().describe('The run that the node waits for, as it is now'),
    reminder: ReminderShown.optional().describe('Those who may answer were reminded of the question'),
    at: z.iso.datetime(),
  })
  .meta({ id: 'WorkflowInstanceEvent' });

const NodeState = z
  .object({
    nodeID: z.string(),
    iteration: z.int(),
    frame: IterationPath,
    attempt: z.int(),
    status: StatusOfNode,
    exit: z.string().nullable(),
    startedAt: z.iso.datetime().nullable(),
    completedAt: z.iso.datetime().nullable(),
  })
  .meta({ id: 'WorkflowInstanceNode' });

const MapChunks = z
  .object({ total: z.int(), started: z.int(), ended: z.int() })
  .meta({ id: 'WorkflowInstanceMapChunks', description: 'Chunks of a map' });

const MapOfRun = MapProgress.extend({
  mapID: z.uuid().describe('Its chunks are runs that name it'),
  nodeID: z.string(),
  frame: IterationPath,
  chunks: MapChunks,
  isOver: z.boolean(),
  createdAt: z.iso.datetime(),
}).meta({ id: 'WorkflowInstanceMap', description: 'How far a map of a run is' });

const ShownTestMode = z
  .object({
    dryRun: z.boolean(),
    stopAfter: z.string().nullable(),
    pinned: z.array(z.string()).describe('The ids of nodes'),
  })
  .meta({ id: 'TestMode', description: 'How a test run differs from others' });

export const FailureHandling = z
  .object({
    workflowID: z.uuid(),
    instanceID: z.uuid().nullable().describe('The run that was started; null if none was'),
    error: z.string().nullable().describe('Why none was started; null also while none has been'),
  })
  .meta({ id: 'FailureHandling', examples: [exampleFailureHandling] });

export const RunTrigger = z
  .object({
    type: z.enum(['cronJob', 'listener', 'appPage', 'failedRun']),
    id: z.uuid(),
    tickID: z.uuid().optional().describe('The tick of the cron job'),
    scheduledAt: z.iso.datetime().optional().describe('The time of that tick'),
    eventID: z.uuid().optional().describe('The event of the listener, while it is stored'),
  })
  .meta({
    id: 'RunTrigger',
    description: 'What started a run by itself; `failedRun` has this one as its failure handler',
    examples: [exampleTrigger],
  });

export const Instance = InstanceSummary.extend({
  trigger: RunTrigger.nullable().describe('Null if a person, an API key or a parent started it'),
  seq: z.int().describe('Of the last visible change: the `lastSeq` for `workflow_run_join`'),
  testMode: ShownTestMode.optional().describe('Of a test run that differs from others'),
  input: Stored.optional().describe('Left out if the query has `input=false`'),
  output: z.unknown(),
  error: RunError.nullable(),
  onFailure: FailureHandling.optional().describe('If the run has failed and its workflow has an `onFailure`'),
  waiting: Waiting.optional(),
  waitReason: WaitReason.optional().describe('If no worker has the run and it has not ended'),
  timeline: z.array(TimelineEvent),
  nextSeq: z.int().nullable().describe('The `afterSeq` for the rest of the timeline; null at its end'),
  nodes: z.array(NodeState),
  maps: z.array(MapOfRun).optional().describe('The latest 100'),
}).meta({ id: 'WorkflowInstance', examples: [exampleInstance] });
