import { AppError } from '#shared/core/errors.ts';
import type { Json, JsonObject } from '#shared/core/json.ts';
import type { Repeat, RunEventPayload } from '#shared/messaging/realtime/run-events.ts';
import type { WorkerConfig } from '#shared/process/config.ts';
import { exitsOf, needsEdge, usualExitOf } from '#shared/workflow/nodes/properties.ts';
import type { IterationPath } from '#shared/workflow/progress/activation.ts';
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
  retriesOf,
  retryDelay,
  shownError,
} from '../state/outcome.ts';
import type { PendingEvent } from '../state/pending-commit.ts';
import type { Run } from '../state/run.ts';
import type { SizedOutput } from '../state/run-state.ts';
import type { Wait } from '../state/waits.ts';
import { outputText } from '../values/outputs.ts';

/** The conclusion of an attempt: the activations that its outcome makes ready, a wait, or nothing because the run has ended. */
export type Conclusion = { outcome: PendingEvent; next: readonly Activation[] } | { wait: Wait } | null;

interface Success {
  resolved: unknown;
  output: JsonObject;
  exit: string | null;
  cancelsOthers?: boolean;
  /** Beside the output. */
  marks?: Pick<RunEventPayload, 'isPinned'>;
}

type Limits = Pick<WorkerConfig, 'nodeOutputMaxBytes' | 'runOutputMaxBytes'> & Pick<SizedOutput, 'largeLength'>;

/** Records the output of an activation. Throws if the run cannot take it. */
export function succeed(
  limits: Limits,
  run: Run,
  activation: Activation,
  { resolved, output, exit, cancelsOthers, marks }: Success,
): Conclusion {
  const { node } = activation;
  if (run.chunk && node.definition.ends) refuseFailedEnd(output);
  if (exit !== null && !node.exits.has(exit) && !exitsOf(node.definition, resolved).includes(exit))
    throw new AppError('NODE_FAILED', `The node left by the exit "${exit}", which it does not have`, { retry: false });
  if (exit !== null && !node.exits.has(exit) && needsEdge(node.definition, exit))
    throw new AppError('NODE_FAILED', `The node left by the exit "${exit}", and nothing is connected to that`, {
      retry: false,
    });
  const text = takeOutput(limits, run, output);
  const { length } = text;
  const source = run.state.store(activation, resolved, { output, length, largeLength: limits.largeLength });
  const payload = marks?.isPinned ? `{"output":${text},"isPinned":true}` : `{"output":${text}}`;
  const outcome = run.record(activation, { status: 'SUCCESS', exit, payload, source });
  const conclusion = goOn(run, activation, { outcome, exit, output });
  // In a map, an end is that of its item.
  if (!cancelsOthers || run.chunk || conclusion === null) return conclusion;
  run.endAt(activation);
  return null;
}

/** Settles the exit by which an activation is left. */
function goOn(
  run: Run,
  activation: Activation,
  { outcome, exit, output }: { outcome: PendingEvent; exit: string | null; output: Json },
): Conclusion {
  const next = run.state.settle(activation, exit);
  return run.stopAfter(activation, output) ? null : { outcome, next };
}

/** Records what a test gives in place of executing an activation. With the exit `error` the activation has failed. */
export function takePin(limits: Limits, run: Run, activation: Activation, { output, exit }: Pin): Conclusion {
  const resolved = activation.node.config;
  try {
    if (exit === 'error') {
      takeOutput(limits, run, output);
      return failActivation(run, activation, { resolved, error: pinnedError(output), pinned: output });
    }
    return succeed(limits, run, activation, { resolved, output, exit, marks: { isPinned: true } });
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
    return failActivation(run, activation, { resolved, error });
  }
}

/** Leaves an activation by its usual exit, without its value: a dry run has refused what it would have written. */
export function passWrite(
  run: Run,
  activation: Activation,
  { resolved, write }: { resolved: unknown; write: string },
): Conclusion {
  const { node } = activation;
  const output = nullOutput(resolved);
  const exit = usualExitOf(node.definition, resolved ?? node.config);
  const source = run.state.store(activation, resolved, { output, length: 0 });
  const payload = JSON.stringify({ output, refusedWrite: write });
  const outcome = run.record(activation, { status: 'SKIPPED', exit, payload, source });
  return goOn(run, activation, { outcome, exit, output });
}

/** An end in a chunk of a map that says failure fails its item. */
function refuseFailedEnd({ status, message }: JsonObject): void {
  if (status !== 'failure') return;
  const text = typeof message === 'string' && message ? message : 'The item ended with status "failure"';
  throw new AppError('NODE_FAILED', text, { retry: false });
}

/** Records that an activation begins to repeat its body. Throws if the run cannot take the items. */
export function repeatBody(
  limits: Limits,
  run: Run,
  activation: Activation,
  { items, ...repeat }: Repeat & { items: Json[] },
): Conclusion {
  const text = takeOutput(limits, run, { items });
  const { next, source } = run.state.repeat(activation, { items, repeat, length: text.length });
  const payload = `{"wait":"iterations","repeat":${JSON.stringify(repeat)},"output":${text}}`;
  return { outcome: run.record(activation, { status: 'SUSPENDED', exit: null, payload, source }), next };
}

/** JSON text of an output, counted among those of the run. */
function takeOutput(limits: Limits, run: Run, output: JsonObject): string {
  const text = outputText(output, limits.nodeOutputMaxBytes);
  if (run.state.outputLength + text.length > limits.runOutputMaxBytes)
    throw new AppError(
      'OUTPUT_TOO_LARGE',
      `The outputs of this run are larger than the limit of ${limits.runOutputMaxBytes} bytes together`,
    );
  run.state.countOutput(text.length);
  return text;
}

/** Passes through a disabled node: no output, and the usual exit of its kind. */
export function skip(run: Run, activation: Activation): Conclusion {
  const { node } = activation;
  const exit = usualExitOf(node.definition, node.config);
  const outcome = run.record(activation, { status: 'SKIPPED', exit, payload: null });
  return goOn(run, activation, { outcome, exit, output: null });
}

interface Failure {
  resolved: unknown;
  error: AppError;
  /** The output that a test gives. */
  pinned?: JsonObject;
}

/** Records a failed attempt: it is repeated later, the activation is left without its value, or the run fails. */
export function failActivation(run: Run, activation: Activation, { resolved, error, pinned }: Failure): Conclusion {
  const { node } = activation;
  const policy = run.version.policies[node.index];
  const failures = run.state.countFailure(activation);
  const ms = retryDelay(policy?.retryDelayMs ?? 0, failures, error.retryAfter);
  if (isRepeatable(error, policy) && failures <= retriesOf(policy) && ms <= LONGEST_PAUSE_MS) {
    const dueAt = new Date(Date.now() + ms).toISOString();
    run.record(activation, {
      status: 'FAILED',
      exit: null,
      payload: JSON.stringify({ error: shownError(error), dueAt }),
    });
    return { wait: { kind: 'time', purpose: 'retry', ms } };
  }
  const exit = exitAfterFailure(node, policy?.errorHandling);
  const marks = pinned && { isPinned: true };
  if (exit === undefined) {
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
  // Where the templates could not be filled in, the name of the value is known all the same.
  const config = resolved ?? node.config;
  const output = pinned ?? { ...nullOutput(config), success: false, error: briefError(error) };
  const attempt = run.attemptOf(activation);
  const source = run.state.pass(activation, config, { output, error: shownError(error), attempt });
  const payload = JSON.stringify({ output, error: shownError(error), ...marks });
  const outcome = run.record(activation, { status: 'FAILED', exit, payload, source });
  return goOn(run, activation, { outcome, exit, output });
}

/** Whether a node that repeats the body of this path, or one around it, takes the failure of an item. */
function isHandledAround(run: Run, path: IterationPath): boolean {
  const container = run.state.containerOf(path);
  if (!container) return false;
  const { node } = container;
  if (run.state.repetitionOf(container)?.repeat.failedItems !== 'fail') return true;
  if (!endsTheRun(run.version.policies[node.index]?.errorHandling, node.exits.has('error'))) return true;
  return isHandledAround(run, container.path);
}
