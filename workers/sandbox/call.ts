import type { FlowKey } from '#shared/concurrency/fair-queue.ts';
import type { Json } from '#shared/core/json.ts';
import type { Printed } from '#shared/workflow/run-log.ts';
import type { Job } from './protocol.ts';

interface CallOptions {
  job: Job;
  flow: FlowKey;
  onPrinted: ((printed: Printed) => void) | undefined;
}

/** One call of the pool's `run`, from the queue to its answer. */
export class Call {
  readonly job: Job;
  readonly flow: FlowKey;
  /** Receives what the code has printed, before the answer. */
  readonly onPrinted: ((printed: Printed) => void) | undefined;
  /** Whether it must run alone in a host, because it was in a host that died. */
  isAlone = false;
  /** Whether it waits for a host. */
  isWaiting = true;
  /** Whether it has its answer; a host may still run it. */
  isSettled = false;
  /** Characters of the result. */
  resultLength = 0;
  watchdog: NodeJS.Timeout | undefined;
  readonly #signal: AbortSignal;
  readonly #onAbort: () => void;
  readonly #answer = Promise.withResolvers<Json>();
  readonly #begin = Promise.withResolvers<boolean>();

  constructor({ job, flow, onPrinted }: CallOptions, signal: AbortSignal, onAbort: (call: Call) => void) {
    this.job = job;
    this.flow = flow;
    this.onPrinted = onPrinted;
    this.#signal = signal;
    this.#onAbort = () => {
      this.reject(signal.reason);
      onAbort(this);
    };
    signal.addEventListener('abort', this.#onAbort);
    // The caller may await the answer later, because it first waits for its permit. A rejection before that must not count as unhandled.
    this.answer.catch(() => undefined);
  }

  get tenantID(): string {
    return this.job.tenantID;
  }

  get answer(): Promise<Json> {
    return this.#answer.promise;
  }

  /** Resolves with true when a host runs the call, with false if the call has ended before. */
  get begun(): Promise<boolean> {
    return this.#begin.promise;
  }

  begin(): void {
    this.isWaiting = false;
    this.#begin.resolve(true);
  }

  /** Answers the call; has no effect if it has an answer. */
  resolve(value: Promise<Json>): void {
    this.#settle();
    this.#answer.resolve(value);
  }

  reject(reason: unknown): void {
    this.#settle();
    this.#answer.reject(reason);
  }

  #settle(): void {
    this.isSettled = true;
    this.isWaiting = false;
    this.#begin.resolve(false);
    this.#signal.removeEventListener('abort', this.#onAbort);
  }
}
