import type { Command } from 'commander';
import type { Input, Run } from '../client/index.ts';
import { type Acting, collected, wholeNumber } from './acting.ts';
import { UsageError } from './exit.ts';
import { tableOf, textOf } from './output.ts';
import { showLogs } from './run-logs.ts';
import type { Session } from './session.ts';
import { follow, type Waiting } from './watch.ts';
import { workflowNamed } from './workflows.ts';

export function runCommands(program: Command, acting: Acting): void {
  const runs = program.command('runs').description('lists, explains, cancels and repeats runs');
  runs
    .command('list', { isDefault: true })
    .description('lists runs, the latest first')
    .option('--workflow <workflow>', 'of this workflow (id or title)')
    .option('--status <status>', 'PENDING, RUNNING, WAITING, COMPLETED, FAILED or CANCELLED')
    .option('--tag <tag>', 'with this tag')
    .option('--limit <n>', 'at most so many', wholeNumber, 20)
    .action(acting(listRuns));
  runs.command('show <run>').description('shows a run, with its nodes').action(acting(showRun));
  runs
    .command('why <run>')
    .description('says why a run has failed, or why it is not running')
    .action(acting(explainRun));
  runs
    .command('logs <run>')
    .description('shows what nodes and the engine have logged')
    .option('--level <level>', 'debug, info, warn or error, and above')
    .option('--node <node>', 'of this node only')
    .option('--follow', 'goes on with what is added, until the run has ended')
    .action(acting(showLogs));
  runs
    .command('watch <run>')
    .description('shows node by node what happens, until the run has ended')
    .option('--timeout <seconds>', 'how long to wait at most', wholeNumber)
    .action(
      acting((session, instanceID: string, options: Waiting) =>
        follow(session, instanceID, { ...options, watch: true }),
      ),
    );
  runs.command('cancel <run>').description('cancels a run, and the runs it has started').action(acting(cancelRun));
  runs
    .command('rerun <run>')
    .description('repeats a run')
    .option('--from <node>', 'start, failed, or the id of a node', 'start')
    .option('--workflow-version <version>', 'original, published, or a number')
    .option('--tag <tag>', 'a tag, instead of those of the run', collected)
    .option('--watch', 'shows node by node what happens')
    .option('--wait', 'waits until the run has ended')
    .option('--timeout <seconds>', 'how long to wait at most', wholeNumber)
    .addHelpText('after', '\nExample:\n  gantry runs rerun $RUN --from failed --watch')
    .action(acting(rerun));
}

interface ListOptions {
  workflow?: string;
  status?: string;
  tag?: string;
  limit: number;
}

async function listRuns(session: Session, { workflow, status, tag, limit }: ListOptions): Promise<void> {
  const workflowID = workflow && (await workflowNamed(session, workflow));
  // The service says which words it takes.
  const query = { ...(workflowID && { workflowID }), ...(status && { status }), ...(tag && { tag }) };
  const input = { path: session.path, query } as Input<'listWorkflowInstances'>;
  session.showRows(await session.list(limit, 'listWorkflowInstances', input), [
    ['run', ({ instanceID }) => instanceID],
    ['workflow', ({ workflowTitle }) => workflowTitle],
    ['status', (run) => run.status],
    ['error', ({ errorCode }) => errorCode],
    ['started', ({ startedAt }) => startedAt],
    ['seconds', secondsOf],
  ]);
}

function secondsOf({
  startedAt,
  completedAt,
}: {
  startedAt: string | null;
  completedAt: string | null;
}): string | null {
  if (!startedAt || !completedAt) return null;
  return ((Date.parse(completedAt) - Date.parse(startedAt)) / 1_000).toFixed(1);
}

async function showRun(session: Session, instanceID: string): Promise<void> {
  session.show(await readRun(session, instanceID), (run) =>
    [
      `${run.status}  ${textOf(run.workflowTitle)}, version ${textOf(run.versionNumber)}`,
      `started ${textOf(run.startedAt)}, ended ${textOf(run.completedAt)}`,
      ...reasonsOf(run),
      '',
      tableOf(run.nodes, [
        ['node', ({ nodeID }) => nodeID],
        ['status', ({ status }) => status],
        ['exit', ({ exit }) => exit],
        ['attempts', ({ attempt }) => attempt],
        ['ended', ({ completedAt }) => completedAt],
      ]),
      ...(run.output === null || run.output === undefined ? [] : ['', 'output', JSON.stringify(run.output, null, 2)]),
    ].join('\n'),
  );
}

async function explainRun(session: Session, instanceID: string): Promise<void> {
  const run = await readRun(session, instanceID);
  const { status, error, waiting, waitReason } = run;
  session.show({ instanceID, status, error, waiting, waitReason }, () => [status, ...reasonsOf(run)].join('\n'));
}

/** A line for each cause, the outermost first. */
function reasonsOf({ error, waitReason, waiting }: Run): string[] {
  const lines: string[] = [];
  for (let cause: Cause | undefined = error ?? undefined; cause && lines.length < 20; cause = cause.cause)
    lines.push(`${lines.length > 0 ? 'because of ' : ''}${cause.code}: ${cause.message}${nodeOf(cause)}`);
  if (waitReason) lines.push(`${waitReason.code}: ${waitReason.message}`);
  if (waitReason?.position)
    lines.push(`position ${waitReason.position}, about ${textOf(waitReason.estimateSeconds)} s`);
  if (waiting?.until) lines.push(`until ${waiting.until}`);
  return lines;
}

interface Cause {
  code?: string;
  message?: string;
  nodeID?: string | null;
  attempt?: number | null;
  cause?: Cause;
}

function nodeOf({ nodeID, attempt }: Cause): string {
  if (!nodeID) return '';
  return attempt && attempt > 1 ? ` (node ${nodeID}, attempt ${attempt})` : ` (node ${nodeID})`;
}

async function cancelRun(session: Session, instanceID: string): Promise<void> {
  const { status } = await session.gantry.call('stopWorkflowInstance', { path: { ...session.path, instanceID } });
  session.show({ instanceID, status }, () => status);
}

interface RerunOptions extends Waiting {
  from: string;
  workflowVersion?: string;
  tag?: string[];
}

async function rerun(session: Session, run: string, options: RerunOptions): Promise<void> {
  const { from, workflowVersion, tag } = options;
  if (from === '') throw new UsageError('--from: expected start, failed, or the id of a node');
  const { instanceID, reused } = await session.gantry.call('rerunWorkflowInstance', {
    path: { ...session.path, instanceID: run },
    body: {
      from: from === 'start' || from === 'failed' ? from : { nodeID: from },
      ...(workflowVersion && { version: workflowVersion }),
      ...(tag && { tags: tag }),
    },
  });
  if (options.watch || options.wait) return follow(session, instanceID, options);
  session.show({ instanceID, reused }, () => instanceID);
}

function readRun({ gantry, path }: Session, instanceID: string): Promise<Run> {
  return gantry.call('getWorkflowInstance', { path: { ...path, instanceID } });
}
