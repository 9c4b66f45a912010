import type { JsonObject } from '#shared/core/json.ts';
import type { AnyNode } from '#shared/workflow/nodes/index.ts';
import type { Executor, NodeContext, Park, Task } from './executor.ts';
import { runAI } from './kinds/ai.ts';
import { runApproval } from './kinds/approval.ts';
import { runCondition } from './kinds/condition.ts';
import { runDataCollection } from './kinds/data-collection.ts';
import { runDataQuery } from './kinds/data-query.ts';
import { runDelay } from './kinds/delay.ts';
import { runEnd } from './kinds/end.ts';
import { runFanout } from './kinds/fanout.ts';
import { runHTTP } from './kinds/http.ts';
import { runJavascript } from './kinds/javascript.ts';
import { runJoin } from './kinds/join.ts';
import { runLog } from './kinds/log.ts';
import { runLoop } from './kinds/loop.ts';
import { runMap } from './kinds/map.ts';
import { runSet } from './kinds/set.ts';
import { runStart } from './kinds/start.ts';
import { runSubWorkflow } from './kinds/sub-workflow.ts';
import { runSwitch } from './kinds/switch.ts';
import { runWaitForEvent } from './kinds/wait-for-event.ts';

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
