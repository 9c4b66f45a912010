import { z } from 'zod';
import { NumberText } from '#shared/core/schema/number-text.ts';
import { idOf } from '#shared/core/schema/reference.ts';
import { IterationPath } from '#shared/workflow/progress/iteration-path.ts';
import { WorkError } from '../../http/fields/response-parts.ts';
import { exampleShadow } from './event-examples.ts';
import { EventID } from './event-schemas.ts';

export const ShadowID = EventID.extend({ shadowID: idOf('run').describe('The `instanceID` of the test run') });

/** The same range as for other requests that wait for a run. */
export const ShadowQuery = z.object({
  wait: NumberText(z.number().min(0).max(60)).prefault(30).describe('How many seconds to wait for the end of the run'),
});

const ofAction = {
  actionID: idOf('listenerAction')
    .optional()
    .describe('The action whose run is compared; without it, the first that has started one'),
};

export const ShadowAction = z.object(ofAction);

export const ShadowReplay = z
  .object({
    version: z
      .union([idOf('version'), z.int().min(1)])
      .optional()
      .describe('The id or the number of the version to run; without it, the one saved last, which may be a draft'),
    ...ofAction,
  })
  .meta({ id: 'ShadowReplay', examples: [{ version: 12 }] });

const Status = z.enum(['PENDING', 'RUNNING', 'WAITING', 'COMPLETED', 'FAILED', 'CANCELLED']);

const ComparedError = WorkError.extend({ nodeID: z.string().nullable() }).meta({ id: 'ComparedError' });

const ComparedRun = z
  .object({
    instanceID: z.uuid(),
    versionID: z.uuid(),
    status: Status,
    error: ComparedError.nullable(),
  })
  .meta({ id: 'ComparedRun' });

const Change = z
  .object({
    path: z.array(z.union([z.string(), z.int()])).describe('The empty path is the whole'),
    from: z.unknown().optional().describe('Of the first run; absent: it has no such value, or `fromLength` is there'),
    to: z.unknown().optional().describe('Of the other run'),
    fromLength: z.int().optional().describe('Of a value that is too long to be shown: characters of its JSON text'),
    toLength: z.int().optional(),
  })
  .meta({ id: 'OutputChange' });

const Ended = z
  .object({ status: z.string(), exit: z.string().nullable(), error: WorkError.nullable() })
  .meta({ id: 'ComparedOutcome' });

const NodeDiff = z
  .object({
    nodeID: z.string(),
    frame: IterationPath.describe('The iterations that it was in'),
    state: z
      .enum(['same', 'changed', 'refused', 'onlyBefore', 'onlyAfter', 'notCompared'])
      .describe(
        '`refused`: the node would have written, and has no output. `onlyBefore`, `onlyAfter`: one run alone came to it. `notCompared`: its output is too large',
      ),
    before: Ended.nullable(),
    after: Ended.nullable(),
    refusedWrite: z.string().optional(),
    changes: z.array(Change).describe('Of the output'),
  })
  .meta({ id: 'NodeOutcomeDiff' });

const Diff = z
  .object({
    nodes: z.array(NodeDiff),
    isCut: z.boolean().describe('More than 500 outcomes: those of the others are left out'),
    output: z.array(Change).describe('Of the runs themselves'),
  })
  .meta({ id: 'RunsDiff' });

export const Shadow = z
  .object({
    eventID: z.uuid(),
    original: ComparedRun.describe('The run that the event has started'),
    shadow: ComparedRun.describe('The test run, whose writes are refused'),
    diff: Diff.nullable().describe('Null while one of them goes on: ask again with the `instanceID` of the shadow'),
  })
  .meta({ id: 'ShadowReplayed', examples: [exampleShadow] });
