import type { Run, RunEvent } from '../client/index.ts';
import { Failed } from './exit.ts';
import { shortened, textOf } from './output.ts';
import type { Session } from './session.ts';

export interface Waiting {
  watch?: boolean;
  wait?: boolean;
  /** Seconds; without it, as long as the run takes. */
  timeout?: number;
}

const LONGEST_OUTPUT = 100;

/** Follows a run to its end as asked, and shows its outcome; a run that has not completed makes the command fail. */
export async function follow(session: Session, instanceID: string, { watch, timeout }: Waiting): Promise<void> {
  const run = { tenantID: session.path.tenantID, instanceID };
  const timeoutMs = timeout === undefined ? undefined : timeout * 1_000;
  if (watch) await say(session, run, timeoutMs);
  const ended = await session.gantry.waitForRun({ ...run, ...(timeoutMs !== undefined && { timeoutMs }) });
  showOutcome(session, ended);
  if (ended.status !== 'COMPLETED') throw new Failed();
}

/** A line for each node, as it ends; on standard error, so that the output of the run stays alone on standard output. */
async function say(session: Session, run: { tenantID: string; instanceID: string }, timeoutMs?: number): Promise<void> {
  const signal = timeoutMs === undefined ? undefined : AbortSignal.timeout(timeoutMs);
  try {
    for await (const event of session.gantry.watchRun({ ...run, ...(signal && { signal }) })) {
      const line = lineOf(event);
      if (line) session.note(line);
    }
  } catch (error) {
    // Waiting for the run says that the time is over.
    if (!signal?.aborted) throw error;
  }
}

function lineOf(event: RunEvent): string | undefined {
  if (event.event === 'workflow_log')
    return `           ${event.message.nodeID}: ${shortened(event.message.message, LONGEST_OUTPUT)}`;
  if (event.event === 'workflow_data_collection_request') return `${'ASKS'.padEnd(10)} ${event.message.nodeID}`;
  if (event.event !== 'workflow_node_update') return undefined;
  const { nodeID, status, output, error, attempt } = event.message;
  const what = error
    ? `${error.code}: ${error.message}`
    : status === 'RUNNING' || output === null
      ? ''
      : textOf(output);
  const again = attempt > 1 ? ` (attempt ${attempt})` : '';
  return `${status.padEnd(10)} ${nodeID}${again}  ${shortened(what, LONGEST_OUTPUT)}`.trimEnd();
}

export function showOutcome(session: Session, run: Run): void {
  const { instanceID, status, output, error } = run;
  if (session.isJSON) return session.line(JSON.stringify({ instanceID, status, output, error }, null, 2));
  session.note(`${status.padEnd(10)} ${instanceID}`);
  if (error) session.note(`${error.code}: ${error.message}${error.nodeID ? ` (node ${error.nodeID})` : ''}`);
  if (output !== null && output !== undefined) session.line(JSON.stringify(output, null, 2));
}
