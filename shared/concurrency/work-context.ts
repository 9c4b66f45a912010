import { AsyncLocalStorage } from 'node:async_hooks';
import type { Turn } from './fair-queue.ts';
import type { HeldBytes } from './memory-budget.ts';

/** The part of a lane that its places use. */
export interface PlacesOf {
  take(turn: Turn): boolean;
  wait(turn: Turn, signal?: AbortSignal, options?: { isFirst?: boolean }): Promise<boolean>;
  leave(turn: Turn): void;
}

/**
 * A taken place of a lane, and the work that runs in it. While the work waits in another lane, others have the place: otherwise work
 * that waits for a slow server would keep out work that needs none. Lanes find the place in the asynchronous context of the work. As
 * a parameter it would pass through every connector and driver, and one that does not pass it on would hold the place.
 */
export class Place implements Disposable {
  readonly #lane: PlacesOf;
  readonly #turn: Turn;
  readonly #bytes: HeldBytes | undefined;
  #isHeld = true;
  #isOver = false;
  #return: Promise<boolean> | undefined;

  /** The caller has taken the place. `bytes` are those that the work may hold; they end with the place. */
  constructor(lane: PlacesOf, turn: Turn, bytes?: HeldBytes) {
    this.#lane = lane;
    this.#turn = turn;
    this.#bytes = bytes;
    if (bytes) bytes.whileWaiting = (wait) => this.whileAway(wait, undefined);
  }

  run<T>(work: () => T): T {
    return current.run({ turn: this.#turn, place: this, bytes: this.#bytes }, work);
  }

  /** Leaves the place until `wait` is over. After an aborted wait the work has nothing left to do but to end, without a place. */
  async whileAway(wait: Promise<boolean>, signal: AbortSignal | undefined): Promise<boolean> {
    this.#giveBack();
    const isSuccess = await wait;
    if (isSuccess && !this.#isHeld && !this.#isOver) {
      this.#return ??= this.#takeAgain(signal);
      await this.#return;
    }
    return isSuccess;
  }

  /** The work is over; connections and timers that it leaves behind do not touch the place. */
  [Symbol.dispose](): void {
    this.#giveBack();
    this.#isOver = true;
    this.#bytes?.[Symbol.dispose]();
  }

  #giveBack(): void {
    if (!this.#isHeld) return;
    this.#isHeld = false;
    this.#lane.leave(this.#turn);
  }

  async #takeAgain(signal: AbortSignal | undefined): Promise<boolean> {
    const wait = () => this.#lane.wait(this.#turn, signal, { isFirst: true });
    this.#isHeld = this.#lane.take(this.#turn) || (await current.run(undefined, wait));
    this.#return = undefined;
    if (this.#isOver) this.#giveBack();
    return this.#isHeld;
  }
}

interface Work {
  turn: Turn;
  place: Place | undefined;
  bytes: HeldBytes | undefined;
  /** Aborted when the client of the work has gone, and it may end where it waits. */
  gone?: (() => AbortSignal) | undefined;
}

const current = new AsyncLocalStorage<Work | undefined>();

/** Runs work that has no place and may hold these bytes. */
export function withBytes<T>(turn: Turn, bytes: HeldBytes, work: () => T, gone?: Work['gone']): T {
  return current.run({ turn, place: undefined, bytes, gone }, work);
}

/** Runs work that is not the caller's alone: neither its turn nor its end is that of the caller. */
export function apart<T>(work: () => T): T {
  return current.run(undefined, work);
}

/** The place of the work that calls. */
export function placeOfWork(): Place | undefined {
  return current.getStore()?.place;
}

/** The bytes that the work that calls holds; undefined where no limited work does. */
export function bytesOfWork(): HeldBytes | undefined {
  return current.getStore()?.bytes;
}

/** Aborted when the client of the work that calls has gone; undefined where the work goes on all the same. */
export function goneOfWork(): AbortSignal | undefined {
  return current.getStore()?.gone?.();
}

/** The turn of the work that calls; of the deployment itself where no tenant's work does. */
export function turnOfWork(): Turn {
  return current.getStore()?.turn ?? { tenantID: '' };
}

/** The turn of the work that calls, if it is the tenant's. */
export function turnOf(tenantID: string): Turn {
  const turn = current.getStore()?.turn;
  return turn?.tenantID === tenantID ? turn : { tenantID };
}
