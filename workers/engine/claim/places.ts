/** Consumers of a process with so many slots that ask for jobs of runs at once. */
export function consumersFor(slots: number): number {
  return Math.min(slots, MAX_CONSUMERS);
}

/** A job takes a few milliseconds to fetch and to claim; more than one at a time keeps the slots filled when runs are short. */
const MAX_CONSUMERS = 8;

interface Claimer {
  max: number;
  resolve(taken: number): void;
}

/**
 * The places of a process for runs. A job is done when its runs are claimed, so the number of jobs does not bound the runs. And a
 * process asks for a job only if it has a place for it, or it would keep the runs from a process that is idle.
 */
export class Places {
  #free: number;
  /** Consumers that ask for a job. */
  #asking: number;
  #isClosed = false;
  #isFull = false;
  #claimers: Claimer[] = [];
  #askers: (() => void)[] = [];

  constructor(places: number, consumers = consumersFor(places)) {
    this.#free = places;
    this.#asking = consumers;
  }

  /** The process stops: no places are given any more, and nothing waits for one. */
  get isClosed(): boolean {
    return this.#isClosed;
  }

  /** Takes note that a consumer has got a job. */
  gotJob(): void {
    this.#asking -= 1;
  }

  /** Takes up to `max` places, as many as are free; waits up to `patienceMs` for the first. Answers how many, and 0 in vain. */
  async take(max: number, patienceMs: number): Promise<number> {
    if (this.#isClosed) return 0;
    if (this.#free > 0 && !this.#isFull) return this.#takeFree(max);
    if (patienceMs <= 0) return 0;
    const { promise, resolve } = Promise.withResolvers<number>();
    const claimer = { max, resolve };
    this.#claimers.push(claimer);
    const timer = setTimeout(() => {
      this.#claimers = this.#claimers.filter((other) => other !== claimer);
      resolve(0);
    }, patienceMs);
    const taken = await promise;
    clearTimeout(timer);
    return taken;
  }

  /** Gives back a place. */
  leave(): void {
    this.#free += 1;
    this.#serveOne();
  }

  /** Sets whether places are given: the runs that are held may have all of the memory. */
  setFull(isFull: boolean): void {
    if (this.#isFull === isFull) return;
    this.#isFull = isFull;
    if (isFull) return;
    for (let left = this.#claimers.length + this.#askers.length; left > 0; left -= 1) this.#serveOne();
  }

  #serveOne(): void {
    if (this.#free === 0 || this.#isFull) return;
    const [claimer] = this.#claimers.splice(0, 1);
    if (claimer) claimer.resolve(this.#takeFree(claimer.max));
    else this.#admitAsker();
  }

  /** Waits until there is a free place for each consumer that asks for a job, this one included. */
  async untilMayAsk(): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#askers.push(resolve);
    this.#admitAsker();
    await promise;
  }

  close(): void {
    this.#isClosed = true;
    for (const { resolve } of this.#claimers.splice(0)) resolve(0);
    for (const resolve of this.#askers.splice(0)) resolve();
  }

  #takeFree(max: number): number {
    const taken = Math.min(max, this.#free);
    this.#free -= taken;
    return taken;
  }

  #admitAsker(): void {
    if (!this.#isClosed && (this.#isFull || this.#free <= this.#asking)) return;
    const [asker] = this.#askers.splice(0, 1);
    if (!asker) return;
    this.#asking += 1;
    asker();
  }
}
