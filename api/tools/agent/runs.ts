import { isJsonObject } from '#shared/core/json.ts';
import type { ToolResult } from '../tool.ts';
import { type AgentTool, type Call, isRefused, pick, rowsOf, success } from './define.ts';

/** Seconds that a call waits for the end of a run. */
export const DEFAULT_WAIT = 25;

const wait = {
  type: 'number',
  minimum: 0,
  maximum: 50,
  description: `Seconds to wait for the end. Default: ${DEFAULT_WAIT}`,
};

const runWorkflow: AgentTool = {
  name: 'run_workflow',
  title: 'Run a workflow',
  group: 'Workflows',
  uses: ['execute_workflow'],
  does: 'Run the published version of a workflow, wait for its end, and get status and output.',
  when: 'Use it when the user wants the workflow to act. read_asset shows its inputs in `options.inputDefinitions`. get_run follows a run that has not ended.',
  costs: 'its steps really act, and count against quotas.',
  effect: 'runs',
  input: {
    workflowID: { type: 'string' },
    args: { type: 'object', description: 'Inputs by name' },
    wait,
  },
  required: ['workflowID'],
  run: ({ workflowID, args, wait: seconds = DEFAULT_WAIT }, call) =>
    call('execute_workflow', { workflowID, ...(args !== undefined && { args }), wait: seconds }),
};

const rerunRun: AgentTool = {
  name: 'rerun_run',
  title: 'Run again',
  group: 'Workflows',
  uses: ['rerun_workflow_instance'],
  does: 'Repeat a run with its inputs, from its beginning or from the step that failed.',
  when: 'Use it after the cause of a failure is mended; with `version` published, the mended workflow runs.',
  costs: 'its steps really act, and count against quotas.',
  effect: 'runs',
  input: {
    instanceID: { type: 'string' },
    from: { type: 'string', enum: ['failed', 'start'], description: 'Default: "failed"' },
    version: { type: 'string', enum: ['published', 'original'], description: 'Default: "published"' },
    wait,
  },
  required: ['instanceID'],
  run: ({ instanceID, from = 'failed', version = 'published' }, call) =>
    call('rerun_workflow_instance', { instanceID, from, version }),
};

const runFields = ['instanceID', 'workflowTitle', 'status', 'errorCode', 'createdAt', 'completedAt', 'workflowID'];
const statuses = ['PENDING', 'RUNNING', 'WAITING', 'COMPLETED', 'FAILED', 'CANCELLED'];

const listRuns: AgentTool = {
  name: 'list_runs',
  title: 'List runs',
  group: 'Workflows',
  uses: ['list_workflow_instances'],
  does: 'List runs of workflows, newest first.',
  when: 'Use it to find what ran, and when. list_failures groups those that failed.',
  costs: 'low; it changes nothing.',
  effect: 'reads',
  input: {
    workflowID: { type: 'string', description: 'Runs of this workflow' },
    status: { type: 'string', enum: statuses },
    from: { type: 'string', format: 'date-time', description: 'Accepted at this time or later' },
    to: { type: 'string', format: 'date-time', description: 'Accepted before this time' },
    limit: { type: 'integer', minimum: 1, maximum: 100, description: 'Default: 20' },
    cursor: { type: 'string', description: 'The `nextCursor` of the page before' },
  },
  async run(args, call) {
    const answer = await call('list_workflow_instances', { limit: 20, ...args });
    if (isRefused(answer)) return answer;
    const runs = rowsOf(answer.body, 'instances').map((run) => pick(run, runFields));
    return success({ runs, nextCursor: answer.body.nextCursor }, runs.length > 0 ? ['get_run explains one'] : []);
  },
};

const getRun: AgentTool = {
  name: 'get_run',
  title: 'Get a run',
  group: 'Workflows',
  uses: ['get_workflow_instance'],
  does: 'Get status, error, output, steps and the end of the log of a run; of a failed step also its settings as they were.',
  when: 'Use it to explain a failure, or to follow a run until it is COMPLETED, FAILED or CANCELLED.',
  costs: 'low; it changes nothing.',
  effect: 'reads',
  input: {
    instanceID: { type: 'string' },
    offset: { type: 'integer', minimum: 0, description: 'Where to read on, in characters' },
  },
  required: ['instanceID'],
  async run({ instanceID }, call) {
    const answer = await readRun(instanceID, call);
    return isRefused(answer) ? answer : explain(answer.body, call);
  },
};

/** A run without its timeline, and without its input if that is more than an answer may have. */
async function readRun(instanceID: unknown, call: Call): Promise<ToolResult> {
  const args = { instanceID, afterSeq: Number.MAX_SAFE_INTEGER, timelineLimit: 1 };
  const answer = await call('get_workflow_instance', args);
  if (answer.status !== TOO_LARGE) return answer;
  const { status, body } = await call('get_workflow_instance', { ...args, input: 'false' });
  return { status, body: { ...body, input: 'left out, since it is larger than an answer may be' } };
}

const TOO_LARGE = 413;

async function explain(run: ToolResult['body'], call: Call): Promise<ToolResult> {
  const { instanceID } = run;
  const last = Number(run.seq) || 0;
  const steps = rowsOf(run, 'nodes').map((node) => pick(node, ['nodeID', 'status', 'iteration', 'attempt']));
  const status = String(run.status);
  const failed = status === 'FAILED' ? await findFailed(run, last, call) : undefined;
  const settings = failed
    ? await call('get_workflow_step_input', { instanceID, nodeID: failed.nodeID })
    : { status: 404, body: {} };
  return success(
    {
      ...pick(run, ['instanceID', 'workflowTitle', 'workflowID', 'versionNumber', 'status', 'origin']),
      ...pick(run, ['createdAt', 'startedAt', 'completedAt', 'waiting', 'rerunOf', 'error']),
      ...(failed && { failedStep: pick(failed, ['nodeID', 'iteration', 'attempt', 'error', 'at']) }),
      ...(!isRefused(settings) && { failedStepSettings: pick(settings.body.settings, ['values', 'inDoubt']) }),
      ...pick(run, ['input', 'output']),
      steps,
      ...(await endOfLog(instanceID, last, call)),
    },
    nexts[status] ?? [],
  );
}

/** The failure of the step that ended the run, among the last events: among fewer of them, if their outputs are more than an answer may have. */
async function findFailed(
  run: ToolResult['body'],
  last: number,
  call: Call,
): Promise<Record<string, unknown> | undefined> {
  const { instanceID } = run;
  const nodeID = isJsonObject(run.error) ? run.error.nodeID : undefined;
  const isIt = (one: Record<string, unknown>) =>
    one.status === 'FAILED' && one.error != null && (nodeID == null || one.nodeID === nodeID);
  for (const events of [200, 20, 4]) {
    const args = { instanceID, afterSeq: Math.max(last - events, 0), timelineLimit: events, input: 'false' };
    const { status, body } = await call('get_workflow_instance', args);
    if (status !== TOO_LARGE) return rowsOf(body, 'timeline').findLast(isIt);
  }
  return undefined;
}

const MAX_LINES = 40;

/** The last lines of the log: those of fewer events, if they are more than an answer may have. */
async function endOfLog(instanceID: unknown, last: number, call: Call): Promise<Record<string, unknown>> {
  for (const events of [100, 10, 1]) {
    const from = Math.max(last - events, 0);
    const args = { instanceID, level: 'info', limit: 1_000, cursor: `${from}.0` };
    const { status, body } = await call('get_workflow_instance_logs', args);
    if (events > 1 && (status === TOO_LARGE || body.nextCursor != null)) continue;
    const lines = rowsOf(body, 'lines');
    const isWhole = from === 0 && lines.length <= MAX_LINES && body.nextCursor == null && status < 400;
    return {
      log: lines.slice(-MAX_LINES).map((line) => pick(line, ['at', 'level', 'nodeID', 'message'])),
      ...(!isWhole && { moreLog: 'call_tool with get_workflow_instance_logs has all lines' }),
    };
  }
  return {};
}

const nexts: Readonly<Record<string, readonly string[]>> = {
  FAILED: [
    'read_asset with type `workflow` shows the graph; save_workflow changes it',
    'rerun_run repeats the run once the cause is mended',
  ],
  WAITING: ['get_run again later; `waiting` says what for'],
  RUNNING: ['get_run again in a moment', 'stop_workflow_instance cancels the run'],
  PENDING: ['get_run again in a moment', 'stop_workflow_instance cancels the run'],
};

const listFailures: AgentTool = {
  name: 'list_failures',
  title: 'List failures',
  group: 'Workflows',
  uses: ['list_workflow_instances'],
  does: 'Group the failed runs of the last hours by workflow and error, and list dead letters, and cron jobs and listeners that have stopped.',
  when: 'Use it to answer what went wrong lately.',
  costs: 'low; it changes nothing.',
  effect: 'reads',
  input: { hours: { type: 'number', minimum: 1, maximum: 336, description: 'How far back. Default: 24' } },
  async run({ hours = 24 }, call) {
    const from = new Date(Date.now() - Math.min(Math.max(Number(hours) || 24, 1), 336) * 3_600_000).toISOString();
    const answer = await call('list_workflow_instances', { status: 'FAILED', from, limit: 100 });
    if (isRefused(answer)) return answer;
    const { body } = await call('get_overview', {});
    const failures = grouped(rowsOf(answer.body, 'instances'));
    const unseen = ['deadLetters', 'stoppedCronJobs', 'stoppedListeners'].filter((part) => body[part] == null);
    return success(
      {
        failures,
        ...(answer.body.nextCursor != null && { more: 'There are older ones: only the newest 100 runs are grouped' }),
        ...(unseen.length > 0 && { notShown: `The caller may not see ${unseen.join(', ')}` }),
        deadLetters: listIn(body.deadLetters, 'listeners'),
        stoppedCronJobs: listIn(body.stoppedCronJobs, 'newest'),
        stoppedListeners: listIn(body.stoppedListeners, 'newest'),
      },
      failures.length > 0 ? ['get_run with a lastInstanceID explains a failure'] : [],
    );
  },
};

/** The rows of a part of the overview. Undefined for a part that the caller may not see, which the answer leaves out. */
function listIn(part: unknown, field: string): unknown[] | undefined {
  return isJsonObject(part) ? rowsOf(part, field).map((row) => pick(row, Object.keys(row))) : undefined;
}

function grouped(runs: readonly Record<string, unknown>[]): Record<string, unknown>[] {
  const groups = new Map<string, Record<string, unknown> & { runs: number }>();
  for (const run of runs) {
    const key = JSON.stringify([run.workflowID, run.errorCode]);
    const { instanceID: lastInstanceID, createdAt: lastAt, ...rest } = pick(run, runFields.toSpliced(2, 1));
    const known = groups.get(key) ?? { runs: 0, ...rest, lastInstanceID, lastAt, completedAt: undefined };
    groups.set(key, { ...known, runs: known.runs + 1 });
  }
  return [...groups.values()].sort((one, other) => other.runs - one.runs);
}

export const runTools: readonly AgentTool[] = [runWorkflow, rerunRun, listRuns, getRun, listFailures];

/** Tools of agents whose answer has the id of a run, for whose end they wait. */
export const waitsForRun: ReadonlySet<string> = new Set([runWorkflow.name, rerunRun.name]);
