import { AppError } from '#shared/core/errors.ts';
import { isJsonObject, type Json, type JsonObject } from '#shared/core/json.ts';
import type { Repeat } from '#shared/messaging/realtime/run-events.ts';
import type { Activation } from '#shared/workflow/progress/progress.ts';
import type { WaitResult } from '../../nodes/executor.ts';
import type { Chunk } from '../state/chunk.ts';
import { shownError } from '../state/outcome.ts';
import type { Run } from '../state/run.ts';
import { outputText } from '../values/outputs.ts';
import type { Transition } from './node-result.ts';

/** Begins the first item of a chunk. The event does not repeat the items, which the row of the chunk has. */
export function beginChunk(run: Run, activation: Activation, { items, first, plan }: Chunk): Transition {
  const repeat: Repeat = {
    itemVariable: plan.itemVariable,
    indexVariable: plan.indexVariable,
    delayMs: 0,
    failedItems: plan.failsFast ? 'fail' : 'keep',
    ...(plan.tolerated !== null && { tolerated: plan.tolerated }),
  };
  const { next, source } = run.state.repeat(activation, { items, repeat, first, length: 0 });
  const payload = JSON.stringify({ wait: 'iterations', repeat, output: {} });
  return { outcome: run.record(activation, { status: 'SUSPENDED', exit: null, payload, source }), next };
}

/** Ends a chunk with the results of its items as the output of its run, from which the map reads them. */
export function completeChunk(
  { nodeOutputMaxBytes }: { nodeOutputMaxBytes: number },
  run: Run,
  activation: Activation,
  { results, total, failed }: Extract<WaitResult, { kind: 'iterations' }>,
): Transition {
  const collected = run.chunk?.plan.collectResults === false ? [] : results;
  const size = collected.length > 0 ? sizeOf(collected, nodeOutputMaxBytes) : 0;
  // Results that are too large are dropped: their size alone fails the map, since no item has failed.
  run.endWith({ failed, size, results: size === SIZE_TOO_LARGE ? [] : collected });
  const payload = JSON.stringify({ output: { totalItems: total, failedItems: failed } });
  const outcome = run.record(activation, { status: 'SUCCESS', exit: activation.node.definition.body ?? null, payload });
  return { outcome, next: run.state.settle(activation, null) };
}

/** A size above the limit of any worker: the one that ends the map may have a higher limit than this one. Fits the integer column. */
const SIZE_TOO_LARGE = 2_147_483_647;

/** The size of the results in bytes; `SIZE_TOO_LARGE` above the limit. Throws if Postgres would refuse the results for another reason. */
function sizeOf(results: Json[], maxBytes: number): number {
  try {
    return Buffer.byteLength(outputText({ results }, maxBytes));
  } catch (error) {
    if (!(error instanceof AppError) || error.code !== 'OUTPUT_TOO_LARGE') throw error;
    return SIZE_TOO_LARGE;
  }
}

/** Fails a chunk. If too many of its items have failed, its error says how many, for the counter of the map. */
export function failChunk(run: Run, activation: Activation, reason: AppError): Transition {
  const { phase, failures = 0 } = run.state.repetitionOf(activation) ?? {};
  const error = phase === 'failed' ? withDetails(reason, { failedItems: failures }) : reason;
  run.record(activation, { status: 'FAILED', exit: null, payload: JSON.stringify({ error: shownError(error) }) });
  run.fail(error, { activation, attempt: run.attemptOf(activation) });
  return null;
}

function withDetails({ code, message, details }: AppError, added: JsonObject): AppError {
  return new AppError(code, message, { retry: false, details: { ...(isJsonObject(details) && details), ...added } });
}
