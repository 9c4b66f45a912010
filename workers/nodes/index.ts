import type { JsonObject } from '#shared/core/json.ts';
import type { AnyNode } from '#shared/workflow/nodes/index.ts';
import { runAI } from './ai.ts';
import { runApproval } from './approval.ts';
import { runCondition } from './condition.ts';
import { runDataCollection } from './data-collection.ts';
import { runDataQuery } from './data-query.ts';
import { runDelay } from './delay.ts';
import { runEnd } from './end.ts';
import type { Executor, NodeContext, Park, Task } from './executor.ts';
import { runFanout } from './fanout.ts';
import { runHTTP } from './http.ts';
import { runJavascript } from './javascript.ts';
import { runJoin } from './join.ts';
import { runLog } from './log.ts';
import { runLoop } from './loop.ts';
import { runMap } from './map.ts';
import { runSet } from './set.ts';
import { runStart } from './start.ts';
import { runSubWorkflow } from './sub-workflow.ts';
import { runSwitch } from './switch.ts';
import { runWaitForEvent } from './wait-for-event.ts';

const executors = {
  start: runStart,
  dataQuery: runDataQuery,
  javascript: runJavascript,
  http: runHTTP,
  ai: runAI,
  condition: runCondition,
  switch: runSwitch,
  set: runSet,
  fanout: runFanout,
  join: runJoin,
  loop: runLoop,
  map: runMap,
  delay: runDelay,
  dataCollection: runDataCollection,
  approval: runApproval,
  subWorkflow: runSubWorkflow,
  waitForEvent: runWaitForEvent,
  log: runLog,
  end: runEnd,
} satisfies { [D in AnyNode as D['kind']]: Executor<D> };

/** A task whose config has been parsed by its kind's own schema. */
type ErasedTask = Omit<Task<AnyNode>, 'config'> & { config: unknown };

type ErasedExecutor = (task: ErasedTask, context: NodeContext) => Promise<ErasedOutcome | Park> | ErasedOutcome;

interface ErasedOutcome {
  output: JsonObject;
  exit: string | null;
  cancelsOthers?: boolean;
}

/** The executor of a node kind. */
export function executorOf({ kind }: AnyNode): ErasedExecutor {
  // The engine has parsed the config with the kind's own schema, which is what the executor's type asks for.
  return executors[kind] as unknown as ErasedExecutor;
}
