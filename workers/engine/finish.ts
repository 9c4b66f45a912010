import type { AppError } from '#shared/errors.ts';
import type { HeldRun } from './held-run.ts';

const statusOf = { success: 'COMPLETED', failure: 'FAILED', cancelled: 'CANCELLED' } as const;

/** Ends a run of which every branch has ended, with the result of its end nodes. Without one it completes without an output. */
export function finishRun(run: HeldRun): void {
  const { output, status, nodeID, reached } = run.result;
  const end = {
    status: statusOf[status],
    output: reached ? output : null,
    error:
      status === 'failure'
        ? {
            code: 'NODE_FAILED',
            message: 'The run ended with status "failure"',
            nodeID,
            attempt: nodeID === null ? null : 1,
          }
        : null,
  };
  run.step.end = end;
  addRunEvent(run);
}

/** Fails a run and cancels its nodes that run or wait. */
export function failRun(run: HeldRun, error: AppError, where: { nodeID: string | null; attempt: number | null }): void {
  const { graph } = run.version;
  for (const index of [...run.running, ...run.waiting.keys()]) {
    const node = graph.nodes[index];
    if (!node || node.id === where.nodeID) continue;
    run.step.events.push({
      nodeID: node.id,
      iteration: 0,
      attempt: run.attempts.get(index) ?? 1,
      status: 'CANCELLED',
      exit: null,
      payload: null,
    });
  }
  // Selects the statement with waits, which in a terminal commit deletes all waits of the run.
  for (const index of [...run.waiting.keys(), ...run.ended]) {
    const node = graph.nodes[index];
    if (node) run.step.resolved.push(node.id);
  }
  // Not written yet and never needed: the commit cancels only questions that an earlier one has stored.
  run.step.waits = [];
  run.step.requests = [];
  run.step.children = [];
  run.step.release = 'hold';
  run.step.next = [];
  run.step.end = { status: 'FAILED', output: null, error: { code: error.code, message: error.message, ...where } };
  addRunEvent(run);
  run.abort.abort(error);
}

function addRunEvent(run: HeldRun): void {
  const { end } = run.step;
  if (!end) return;
  const payload =
    end.error || end.output !== null
      ? JSON.stringify({ output: end.output, ...(end.error && { error: end.error }) })
      : null;
  run.step.events.push({ nodeID: null, iteration: 0, attempt: 1, status: end.status, exit: null, payload });
}
