import type { Json } from '#shared/json.ts';
import type { Job } from './protocol.ts';

/** One `run` of the pool, from the queue to its answer. */
export class Call {
  readonly job: Job;
  /** Whether it must run alone in a host, because it was in a host that died. */
  isAlone = false;
  /** Answered, although a host may still run it. */
  isSettled = false;
  watchdog: NodeJS.Timeout | undefined;
  readonly #signal: AbortSignal;
  readonly #onAbort: () => void;
  readonly #answer = Promise.withResolvers<Json>();

  constructor(job: Job, signal: AbortSignal, onAbort: (call: Call) => void) {
    this.job = job;
    this.#signal = signal;
    this.#onAbort = () => {
      this.reject(signal.reason);
      onAbort(this);
    };
    signal.addEventListener('abort', this.#onAbort);
  }

  get tenantID(): string {
    return this.job.tenantID;
  }

  get answer(): Promise<Json> {
    return this.#answer.promise;
  }

  /** The first answer counts. */
  resolve(value: Json): void {
    this.#settle();
    this.#answer.resolve(value);
  }

  reject(reason: unknown): void {
    this.#settle();
    this.#answer.reject(reason);
  }

  #settle(): void {
    this.isSettled = true;
    this.#signal.removeEventListener('abort', this.#onAbort);
  }
}
