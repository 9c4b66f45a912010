import { AppError } from '#shared/core/errors.ts';
import type { Json, JsonObject } from '#shared/core/json.ts';
import type { Repeat, RunEventPayload } from '#shared/messaging/realtime/run-events.ts';
import { exitsOf, needsEdge, usualExitOf } from '#shared/workflow/nodes/properties.ts';
import type { IterationPath } from '#shared/workflow/progress/iteration-path.ts';
import type { Activation } from '#shared/workflow/progress/progress.ts';
import type { Pin } from '#shared/workflow/test-mode.ts';
import {
  briefError,
  endsTheRun,
  exitAfterFailure,
  isRepeatable,
  LONGEST_PAUSE_MS,
  nullOutput,
  pinnedError,
  retryDelay,
  shownError,
} from '../state/outcome.ts';
import type { PendingEvent } from '../state/pending-commit.ts';
import type { Run } from '../state/run.ts';
import { outputText } from '../values/outputs.ts';
import type { Done, Failed, Limits, NodeResult, Transition } from './node-result.ts';
import { beginChunk, completeChunk, failChunk } from './reduce-chunk.ts';

/**
 * Applies the result of an activation to the run: records its event, moves the run's progress on, and returns what follows. It changes only
 * the run in memory, does no I/O and starts no node, so a restore that replays the events comes to the same state.
 */
export function reduce(limits: Limits, run: Run, activation: Activation, result: NodeResult): Transition {
  switch (result.kind) {
    case 'done':
      return succeedOrFail(limits, run, activation, result);
    case 'failed':
      return failActivation(run, activation, result);
    case 'skipped':
      return skip(run, activation);
    case 'pinned':
      return takePin(limits, run, activation, result.pin);
    case 'write refused':
      return passWrite(run, activation, result);
    case 'parks':
      run.record(activation, result.parked.event);
      return { wait: result.parked.wait };
    case 'repeats':
      return repeatOrFail(limits, run, activation, result);
    case 'chunk begins':
      return beginChunk(run, activation, result.chunk);
    case 'chunk done':
      return completeOrFailChunk(limits, run, activation, result);
    case 'chunk failed':
      return failChunk(run, activation, result.error);
  }
}

/** Fails the activation if the run cannot take its output. */
function succeedOrFail(limits: Limits, run: Run, activation: Activation, done: Done): Transition {
  try {
    return succeed(limits, run, activation, done);
  } catch (error) {
    return failActivation(run, activation, { resolved: done.resolved, error: done.task.explain(error) });
  }
}

/** Fails the activation if the run cannot take its items. */
function repeatOrFail(
  limits: Limits,
  run: Run,
  activation: Activation,
  { repeat, resolved, task }: Extract<NodeResult, { kind: 'repeats' }>,
): Transition {
  try {
    return repeatBody(limits, run, activation, repeat);
  } catch (error) {
    return failActivation(run, activation, { resolved, error: task.explain(error) });
  }
}

function completeOrFailChunk(
  limits: Limits,
  run: Run,
  activation: Activation,
  { items, task }: Extract<NodeResult, { kind: 'chunk done' }>,
): Transition {
  try {
    return completeChunk(limits, run, activation, items);
  } catch (error) {
    return failChunk(run, activation, task.explain(error));
  }
}

interface Success extends Pick<Done, 'resolved' | 'output' | 'exit' | 'cancelsOthers'> {
  /** Fields of the event's payload beside the output. */
  marks?: Pick<RunEventPayload, 'isPinned'>;
}

/** Records the output of an activation. Throws if the run cannot take it. */
function succeed(
  limits: Limits,
  run: Run,
  activation: Activation,
  { resolved, output, exit, cancelsOthers, marks }: Success,
): Transition {
  const { node } = activation;
  if (run.chunk && node.definition.ends) refuseFailedEnd(output);
  if (exit !== null && !node.exits.has(exit) && !exitsOf(node.definition, resolved).includes(exit))
    throw new AppError('NODE_FAILED', `The node left by the exit "${exit}", which it does not have`, { retry: false });
  if (exit !== null && !node.exits.has(exit) && needsEdge(node.definition, resolved, exit))
    throw new AppError('NODE_FAILED', `The node left by the exit "${exit}", and nothing is connected to that`, {
      retry: false,
    });
  const text = takeOutput(limits, run, output);
  const { length } = text;
  const source = run.state.store(activation, resolved, { output, length, largeLength: limits.largeLength });
  const payload = marks?.isPinned ? `{"output":${text},"isPinned":true}` : `{"output":${text}}`;
  const outcome = run.record(activation, { status: 'SUCCESS', exit, payload, source });
  const transition = goOn(run, activation, { outcome, exit, output });
  // In a chunk of a map, an end node ends its item only, not the run.
  if (!cancelsOthers || run.chunk || transition === null) return transition;
  run.endAt(activation);
  return null;
}

/** Leaves an activation by an exit. Returns the activations that become ready, or null if a test run was to stop after this one. */
function goOn(
  run: Run,
  activation: Activation,
  { outcome, exit, output }: { outcome: PendingEvent; exit: string | null; output: Json },
): Transition {
  const next = run.state.settle(activation, exit);
  return run.stopAfter(activation, output) ? null : { outcome, next };
}

/** Records the output that a test run pins for an activation. With the exit `error` the activation fails, by the error in this output. */
function takePin(limits: Limits, run: Run, activation: Activation, { output, exit }: Pin): Transition {
  const resolved = activation.node.config;
  try {
    if (exit === 'error') {
      // Only checks and counts the output: `failActivation` records it.
      takeOutput(limits, run, output);
      return failActivation(run, activation, { resolved, error: pinnedError(output), pinned: output });
    }
    return succeed(limits, run, activation, { resolved, output, exit, marks: { isPinned: true } });
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
    return failActivation(run, activation, { resolved, error });
  }
}

/** Leaves an activation by its usual exit with null as its value, because a dry run has refused its write. */
function passWrite(
  run: Run,
  activation: Activation,
  { resolved, write }: { resolved: unknown; write: string },
): Transition {
  const { node } = activation;
  const output = nullOutput(resolved);
  const exit = usualExitOf(node.definition, resolved ?? node.config);
  const source = run.state.store(activation, resolved, { output, length: 0 });
  const payload = JSON.stringify({ output, refusedWrite: write });
  const outcome = run.record(activation, { status: 'SKIPPED', exit, payload, source });
  return goOn(run, activation, { outcome, exit, output });
}

/** Throws for an end node with the status `failure` in a chunk of a map: that fails the item, not the run. */
function refuseFailedEnd({ status, message }: JsonObject): void {
  if (status !== 'failure') return;
  const text = typeof message === 'string' && message ? message : 'The item ended with status "failure"';
  throw new AppError('NODE_FAILED', text, { retry: false });
}

/** Records that an activation begins to repeat its body. Throws if the run cannot take the items. */
function repeatBody(
  limits: Limits,
  run: Run,
  activation: Activation,
  { items, ...repeat }: Repeat & { items: Json[] },
): Transition {
  const text = takeOutput(limits, run, { items });
  const { next, source } = run.state.repeat(activation, { items, repeat, length: text.length });
  const payload = `{"wait":"iterations","repeat":${JSON.stringify(repeat)},"output":${text}}`;
  return { outcome: run.record(activation, { status: 'SUSPENDED', exit: null, payload, source }), next };
}

/** Returns the JSON text of an output and counts its length for the run. Throws if the node or the run exceeds its limit. */
function takeOutput(limits: Limits, run: Run, output: JsonObject): string {
  const text = outputText(output, limits.nodeOutputMaxBytes);
  if (run.state.outputLength + text.length > limits.runOutputMaxBytes)
    throw new AppError(
      'OUTPUT_TOO_LARGE',
      `The outputs of this run are larger than the limit of ${limits.runOutputMaxBytes} bytes together (RUN_OUTPUT_MAX_BYTES)`,
    );
  run.state.countOutput(text.length);
  return text;
}

/** Passes through a disabled node: no output, and the usual exit of its kind. */
function skip(run: Run, activation: Activation): Transition {
  const { node } = activation;
  const exit = usualExitOf(node.definition, node.config);
  const outcome = run.record(activation, { status: 'SKIPPED', exit, payload: null });
  return goOn(run, activation, { outcome, exit, output: null });
}

interface Failure extends Omit<Failed, 'kind'> {
  /** The output, if a test run has pinned this failure. */
  pinned?: JsonObject;
}

/**
 * Records a failed attempt. One of four things follows: the attempt is repeated later; the activation leaves by an exit and the run goes on; the
 * failure ends the item of the iteration around it; or it fails the run.
 */
function failActivation(run: Run, activation: Activation, failure: Failure): Transition {
  const { resolved, error, pinned, byItems = pinned !== undefined } = failure;
  const { node } = activation;
  const policy = run.version.policies[node.index];
  const failures = run.state.countFailure(activation);
  const delayMs = retryDelay(policy?.retryDelayMs ?? 0, failures, error.retryAfter);
  if (isRepeatable(error, policy) && failures <= (policy?.retryLimit ?? 0) && delayMs <= LONGEST_PAUSE_MS) {
    const dueAt = new Date(Date.now() + delayMs).toISOString();
    run.record(activation, {
      status: 'FAILED',
      exit: null,
      payload: JSON.stringify({ error: shownError(error), dueAt }),
    });
    return { wait: { kind: 'time', purpose: 'retry', ms: delayMs } };
  }
  const exit = exitAfterFailure(node, byItems ? policy?.afterFailedItems : policy?.errorHandling);
  const marks = pinned && { isPinned: true };
  if (exit === undefined) {
    // No exit of the node handles the failure: a node that repeats its body may, and goes on with the next item.
    if (isHandledAround(run, activation.path)) {
      const payload = JSON.stringify({ error: shownError(error), failsItem: true, ...marks });
      const outcome = run.record(activation, { status: 'FAILED', exit: null, payload });
      const next = run.state.failItem(activation, shownError(error));
      return run.stopAfter(activation, { success: false, error: briefError(error) }) ? null : { outcome, next };
    }
    const payload = JSON.stringify({ error: shownError(error), ...marks });
    run.record(activation, { status: 'FAILED', exit: null, payload });
    run.fail(error, { activation, attempt: run.attemptOf(activation) });
    return null;
  }
  // If the templates could not be filled in, the saved config still has the name of the output variable, which is set to null.
  const config = resolved ?? node.config;
  const output = pinned ?? { ...nullOutput(config), success: false, error: briefError(error) };
  const attempt = run.attemptOf(activation);
  const source = run.state.pass(activation, config, { output, error: shownError(error), attempt });
  const payload = JSON.stringify({ output, error: shownError(error), ...marks });
  const outcome = run.record(activation, { status: 'FAILED', exit, payload, source });
  return goOn(run, activation, { outcome, exit, output });
}

/**
 * Whether the failure of a node in this path does not end the run: a node that repeats a body around it goes on after failed items, or its own
 * failure does not end the run.
 */
function isHandledAround(run: Run, path: IterationPath): boolean {
  const container = run.state.containerOf(path);
  if (!container) return false;
  const { node } = container;
  if (run.state.repetitionOf(container)?.repeat.failedItems !== 'fail') return true;
  if (!endsTheRun(run.version.policies[node.index]?.errorHandling, node.exits.has('error'))) return true;
  return isHandledAround(run, container.path);
}
