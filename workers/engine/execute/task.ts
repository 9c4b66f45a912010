import type { RetryOptions } from '#shared/concurrency/retry-until-available.ts';
import type { Actor, Caller } from '#shared/core/caller.ts';
import { AppError } from '#shared/core/errors.ts';
import type { JsonObject } from '#shared/core/json.ts';
import type { Logger } from '#shared/core/logger.ts';
import { type IterationPath, idempotencyKey, innermost } from '#shared/workflow/progress/iteration-path.ts';
import type { Activation } from '#shared/workflow/progress/progress.ts';
import type { Printed } from '#shared/workflow/run-log.ts';
import type { NodeRun, NodeVariables, WaitResult } from '../../nodes/executor.ts';
import type { Run } from '../state/run.ts';
import { maskError, maskLine, noVariables } from '../values/node-variables.ts';

/** The input of an executor. Created for every attempt, so its values are computed only on access. */
export class AttemptTask implements NodeRun {
  waitResult: WaitResult | undefined;
  config: unknown;
  variables: NodeVariables = noVariables;
  /** The `ctx` as it is when the attempt begins. */
  scope: JsonObject;
  readonly #run: Run;
  readonly #activation: Activation;
  readonly #logger: Logger;
  #clock: NodeJS.Timeout | undefined;
  #timeout: AbortController | undefined;

  constructor(run: Run, activation: Activation, waitResult: WaitResult | undefined, logger: Logger) {
    this.#run = run;
    this.#activation = activation;
    this.#logger = logger;
    this.waitResult = waitResult;
    this.scope = run.state.scopeOf(activation);
  }

  with(config: unknown): this {
    this.config = config;
    return this;
  }

  get run(): NodeRun {
    return this;
  }

  get instanceID(): string {
    return this.#run.id;
  }
  get tenantID(): string {
    return this.#run.tenantID;
  }
  get workflowID(): string | null {
    return this.#run.workflowID;
  }
  get nodeID(): string {
    return this.#activation.node.id;
  }
  get iteration(): number {
    return innermost(this.#activation.path);
  }
  get frame(): IterationPath {
    return this.#activation.path;
  }
  get attempt(): number {
    return this.#run.attemptOf(this.#activation);
  }
  get caller(): Caller {
    return this.#run.caller;
  }
  get author(): Actor | null {
    return this.#run.version.author;
  }
  get idempotencyKey(): string {
    return idempotencyKey(this.#run.id, this.#activation.node.id, this.#activation.path);
  }
  get isDryRun(): boolean {
    return this.#run.isDryRun;
  }
  get timeoutMs(): number {
    return this.#run.version.policies[this.#activation.node.index]?.timeoutMs ?? 60_000;
  }
  get timeoutSetBy(): string {
    return this.#run.version.policies[this.#activation.node.index]?.timeoutSetBy ?? 'the default';
  }
  get log(): Logger {
    return this.#logger.child({ tenantID: this.tenantID, instanceID: this.instanceID, nodeID: this.nodeID });
  }

  print({ lines, cut }: Printed): void {
    const { secrets } = this.variables;
    const masked = secrets.length === 0 ? lines : lines.map((line) => maskLine(line, secrets));
    this.#run.state.logs.print(this.#activation, { lines: masked, cut });
  }

  /** Aborted when the run is cancelled or taken away, and when the node's time is up. */
  get signal(): AbortSignal {
    const { signal } = this.#run;
    return this.#timeout ? AbortSignal.any([signal, this.#timeout.signal]) : signal;
  }

  /** Options to repeat a statement while Postgres is away. The logger is created on access: that takes 48 µs, longer than many nodes. */
  waiting(options: Omit<RetryOptions, 'logger' | 'signal'>): RetryOptions {
    const logger = () => this.log;
    return {
      get logger() {
        return logger();
      },
      signal: this.#run.signal,
      ...options,
    };
  }

  startClock(): void {
    this.#timeout = new AbortController();
    this.#clock = setTimeout(() => this.#timeout?.abort(this.#tooLong()), this.timeoutMs);
  }

  stopClock(): void {
    clearTimeout(this.#clock);
  }

  /** Converts an error of the executor to the node's error: NODE_TIMEOUT, the AppError with secrets masked, or NODE_FAILED without details. */
  explain(error: unknown): AppError {
    if (this.#timeout?.signal.aborted) return this.#tooLong();
    if (error instanceof AppError) return maskError(error, this.variables.secrets);
    this.log.error({ err: error }, 'node failed unexpectedly');
    return new AppError('NODE_FAILED', 'The node failed unexpectedly', { cause: error });
  }

  #tooLong(): AppError {
    return new AppError('NODE_TIMEOUT', `The node took longer than ${this.timeoutMs / 1000} s (${this.timeoutSetBy})`);
  }
}

export function createTask(
  run: Run,
  activation: Activation,
  waitResult: WaitResult | undefined,
  logger: Logger,
): AttemptTask {
  return new AttemptTask(run, activation, waitResult, logger);
}
