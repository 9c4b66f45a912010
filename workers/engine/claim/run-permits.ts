/** How many consumers of a process with this many slots fetch jobs at once. */
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
 * The permits of a process to own runs. A job is done once its runs are claimed, so a limit of concurrent jobs would not limit the runs. A
 * process fetches a job only if it has a free permit: otherwise the runs of the job would wait here while another process is idle.
 */
export class RunPermits {
  #free: number;
  /** How many consumers fetch a job now. */
  #fetching: number;
  #isClosed = false;
  #isFull = false;
  #claimers: Claimer[] = [];
  #fetchers: (() => void)[] = [];

  constructor(permits: number, consumers = consumersFor(permits)) {
    this.#free = permits;
    this.#fetching = consumers;
  }

  /** Whether the process stops: no permits are given any more, and nothing waits for one. */
  get isClosed(): boolean {
    return this.#isClosed;
  }

  /** Records that a consumer has got a job. */
  fetchedJob(): void {
    this.#fetching -= 1;
  }

  /** Acquires up to `max` permits, as many as are free; waits up to `timeoutMs` for the first. Returns how many; 0 if none became free. */
  async acquire(max: number, timeoutMs: number): Promise<number> {
    if (this.#isClosed) return 0;
    if (this.#free > 0 && !this.#isFull) return this.#acquireFree(max);
    if (timeoutMs <= 0) return 0;
    const { promise, resolve } = Promise.withResolvers<number>();
    const claimer = { max, resolve };
    this.#claimers.push(claimer);
    const timer = setTimeout(() => {
      this.#claimers = this.#claimers.filter((other) => other !== claimer);
      resolve(0);
    }, timeoutMs);
    const taken = await promise;
    clearTimeout(timer);
    return taken;
  }

  /** Releases a permit. */
  release(): void {
    this.#free += 1;
    this.#serveOne();
  }

  /** Sets whether the owned runs take all of the memory. Until it is false again, no permits are given. */
  setFull(isFull: boolean): void {
    if (this.#isFull === isFull) return;
    this.#isFull = isFull;
    if (isFull) return;
    for (let left = this.#claimers.length + this.#fetchers.length; left > 0; left -= 1) this.#serveOne();
  }

  #serveOne(): void {
    if (this.#free === 0 || this.#isFull) return;
    const [claimer] = this.#claimers.splice(0, 1);
    if (claimer) claimer.resolve(this.#acquireFree(claimer.max));
    else this.#serveFetcher();
  }

  /** Waits until there is a free permit for each consumer that fetches a job, this one included. */
  async untilMayFetch(): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#fetchers.push(resolve);
    this.#serveFetcher();
    await promise;
  }

  close(): void {
    this.#isClosed = true;
    for (const { resolve } of this.#claimers.splice(0)) resolve(0);
    for (const resolve of this.#fetchers.splice(0)) resolve();
  }

  #acquireFree(max: number): number {
    const taken = Math.min(max, this.#free);
    this.#free -= taken;
    return taken;
  }

  /** Lets a consumer fetch a job, if more permits are free than consumers fetch already. After `close` there is nothing to wait for. */
  #serveFetcher(): void {
    if (!this.#isClosed && (this.#isFull || this.#free <= this.#fetching)) return;
    const [fetcher] = this.#fetchers.splice(0, 1);
    if (!fetcher) return;
    this.#fetching += 1;
    fetcher();
  }
}
