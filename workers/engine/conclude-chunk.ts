import type { AppError } from '#shared/errors.ts';
import type { Repeat } from '#shared/realtime/run-events.ts';
import type { Frame } from '#shared/workflow/progress.ts';
import type { Fact } from '../nodes/executor.ts';
import type { Chunk } from './chunk.ts';
import type { Conclusion } from './conclude.ts';
import { shownError } from './outcome.ts';
import { outputText } from './outputs.ts';
import type { Run } from './run.ts';

/** Begins the first item of a chunk. The items stand in its row. */
export function beginChunk(run: Run, frame: Frame, { items, first, plan }: Chunk): Conclusion {
  const repeat: Repeat = {
    itemVariable: plan.itemVariable,
    indexVariable: plan.indexVariable,
    delayMs: 0,
    failedItems: plan.failsFast ? 'fail' : 'keep',
    ...(plan.tolerated !== null && { tolerated: plan.tolerated }),
  };
  const { next, source } = run.state.repeat(frame, { items, repeat, first, length: 0 });
  const payload = JSON.stringify({ wait: 'iterations', repeat, output: {} });
  return { outcome: run.record(frame, { status: 'SUSPENDED', exit: null, payload, source }), next };
}

/** Ends a chunk with what its items gave: the output of the run, where the map reads it. */
export function completeChunk(
  { nodeOutputMaxBytes }: { nodeOutputMaxBytes: number },
  run: Run,
  frame: Frame,
  { results, total, failed }: Extract<Fact, { kind: 'iterations' }>,
): Conclusion {
  const collects = run.chunk?.plan.collectResults ?? true;
  const size = collects ? Buffer.byteLength(outputText({ results }, nodeOutputMaxBytes)) : 0;
  run.endWith({ failed, size, results: collects ? results : [] });
  const payload = JSON.stringify({ output: { totalItems: total, failedItems: failed } });
  const outcome = run.record(frame, { status: 'SUCCESS', exit: frame.node.definition.body ?? null, payload });
  return { outcome, next: run.state.settle(frame, null) };
}

/** Fails a chunk as a whole: too many of its items have failed, or their results are too large. */
export function failChunk(run: Run, frame: Frame, error: AppError): Conclusion {
  run.record(frame, { status: 'FAILED', exit: null, payload: JSON.stringify({ error: shownError(error) }) });
  run.fail(error, { frame, attempt: run.attemptOf(frame) });
  return null;
}
