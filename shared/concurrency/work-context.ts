import { AsyncLocalStorage } from 'node:async_hooks';
import type { FlowKey } from './fair-queue.ts';
import type { Reservation } from './memory-budget.ts';

/** The part of a semaphore that its permits use. */
export interface PermitSource {
  tryAcquire(flow: FlowKey): boolean;
  acquire(flow: FlowKey, signal?: AbortSignal, options?: { isFirst?: boolean }): Promise<boolean>;
  release(flow: FlowKey): void;
}

/**
 * A permit of a semaphore, and the work that runs with it. While the work waits for another semaphore, its permit is released for other
 * work: otherwise work that waits for a slow server would keep out work that does not need that server. Semaphores find the permit in the
 * asynchronous context of the work. As a parameter, it would have to pass through every connector and driver; if one of them did not pass
 * it on, the permit would not be released.
 */
export class Permit implements Disposable {
  readonly #semaphore: PermitSource;
  readonly #flow: FlowKey;
  readonly #reservation: Reservation | undefined;
  #isAcquired = true;
  #isOver = false;
  #acquiringAgain: Promise<boolean> | undefined;

  /** The caller has acquired the permit. `reservation` has the bytes of the work, and ends with the permit. */
  constructor(semaphore: PermitSource, flow: FlowKey, reservation?: Reservation) {
    this.#semaphore = semaphore;
    this.#flow = flow;
    this.#reservation = reservation;
    if (reservation) reservation.whileWaiting = (wait) => this.releaseWhile(wait, undefined);
  }

  run<T>(work: () => T): T {
    return current.run({ flow: this.#flow, permit: this, reservation: this.#reservation }, work);
  }

  /** Releases the permit until `wait` is over. After an aborted wait the work has nothing left to do but to end, without a permit. */
  async releaseWhile(wait: Promise<boolean>, signal: AbortSignal | undefined): Promise<boolean> {
    this.#release();
    const isSuccess = await wait;
    if (isSuccess && !this.#isAcquired && !this.#isOver) {
      this.#acquiringAgain ??= this.#acquireAgain(signal);
      await this.#acquiringAgain;
    }
    return isSuccess;
  }

  /** Ends the work; connections and timers that it leaves behind do not touch the permit. */
  [Symbol.dispose](): void {
    this.#release();
    this.#isOver = true;
    this.#reservation?.[Symbol.dispose]();
  }

  #release(): void {
    if (!this.#isAcquired) return;
    this.#isAcquired = false;
    this.#semaphore.release(this.#flow);
  }

  async #acquireAgain(signal: AbortSignal | undefined): Promise<boolean> {
    const wait = () => this.#semaphore.acquire(this.#flow, signal, { isFirst: true });
    this.#isAcquired = this.#semaphore.tryAcquire(this.#flow) || (await current.run(undefined, wait));
    this.#acquiringAgain = undefined;
    if (this.#isOver) this.#release();
    return this.#isAcquired;
  }
}

/** The properties of a piece of work that calls deep inside it find in its asynchronous context. */
interface WorkContext {
  flow: FlowKey;
  permit: Permit | undefined;
  reservation: Reservation | undefined;
  /** Aborted when the client of the work has disconnected, and it may end where it waits. */
  requestSignal?: (() => AbortSignal) | undefined;
}

const current = new AsyncLocalStorage<WorkContext | undefined>();

/** Runs work that has no permit and may reserve bytes. */
export function withReservation<T>(
  flow: FlowKey,
  reservation: Reservation,
  work: () => T,
  signalOf?: WorkContext['requestSignal'],
): T {
  return current.run({ flow, permit: undefined, reservation, requestSignal: signalOf }, work);
}

/** Runs work that several callers share: it neither belongs to the flow of the first caller nor ends with that caller. */
export function runDetached<T>(work: () => T): T {
  return current.run(undefined, work);
}

/** The permit of the calling work. */
export function currentPermit(): Permit | undefined {
  return current.getStore()?.permit;
}

/** The bytes reserved by the calling work; undefined for work without a limit. */
export function currentReservation(): Reservation | undefined {
  return current.getStore()?.reservation;
}

/** A signal that is aborted when the client of the calling work has disconnected; undefined for work that does not depend on a client. */
export function requestSignal(): AbortSignal | undefined {
  return current.getStore()?.requestSignal?.();
}

/** The flow of the calling work; that of the deployment itself outside of a tenant's work. */
export function currentFlow(): FlowKey {
  return current.getStore()?.flow ?? { tenantID: '' };
}

/** The flow of the calling work, if it is the tenant's. */
export function flowOf(tenantID: string): FlowKey {
  const flow = current.getStore()?.flow;
  return flow?.tenantID === tenantID ? flow : { tenantID };
}
