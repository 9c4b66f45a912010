import { createFairQueue } from '#shared/concurrency/fair-queue.ts';
import type { Run } from '../state/run.ts';
import type { Entry } from './values.ts';

/** Statements in flight at once. */
const MAX_IN_FLIGHT = 3;
/** Statements of small commits in flight. Two keep the database busy while this process prepares the next; more would make the batches small. */
const MAX_SMALL = 2;
const MAX_BATCH = 500;
/** A commit with this many characters gets its own statement, creators in turn. Postgres takes 50 ms or more for a few megabytes. */
const LARGE_COMMIT = 250_000;
/** Statements of large commits in flight: fewer than all, so that small commits do not wait for them. */
const MAX_LARGE = 2;
/** Characters of a batch of several commits. A statement of many larger ones could exceed the maximum length of a string, and would be slow. */
const MAX_BATCH_SIZE = 8_000_000;

type Kind = 'small' | 'large';

/** The runs whose commit waits for a statement, and how many statements are in flight. */
export class CommitQueue {
  readonly #small: Run[] = [];
  readonly #large = createFairQueue<Run>();
  /** Commits taken before, with numbers for their events: their rows were locked, or the batch was full. */
  readonly #locked: Entry[] = [];
  readonly #inFlight = { small: 0, large: 0 };
  readonly #take: (run: Run) => Entry | undefined;

  /** `take`: takes the pending commit of a run once a statement has room for it; undefined if the run has none any more. */
  constructor(take: (run: Run) => Entry | undefined) {
    this.#take = take;
  }

  add(run: Run): void {
    if (run.pendingLength < LARGE_COMMIT) this.#small.push(run);
    else this.#large.enqueue(run.flow, run);
  }

  addAgain(entries: readonly Entry[]): void {
    this.#locked.push(...entries);
  }

  /** The kind of commits that may be written now; undefined if none may. */
  get next(): Kind | undefined {
    if (this.#inFlight.small + this.#inFlight.large >= MAX_IN_FLIGHT) return undefined;
    if (this.#large.size > 0 && this.#inFlight.large < MAX_LARGE) return 'large';
    const hasSmall = this.#small.length > 0 || this.#locked.length > 0;
    return hasSmall && this.#inFlight.small < MAX_SMALL ? 'small' : undefined;
  }

  get isIdle(): boolean {
    const { small, large } = this.#inFlight;
    return small + large + this.#small.length + this.#large.size + this.#locked.length === 0;
  }

  /** Takes the commits of the next statement, which counts as in flight until `end` is called. There may be no commits. */
  begin(kind: Kind): Entry[] {
    this.#inFlight[kind] += 1;
    return kind === 'large' ? this.#nextLarge() : this.#nextBatch();
  }

  end(kind: Kind): void {
    this.#inFlight[kind] -= 1;
  }

  #nextLarge(): Entry[] {
    const run = this.#large.dequeue(() => true);
    const entry = run && this.#take(run);
    return entry ? [entry] : [];
  }

  #nextBatch(): Entry[] {
    const batch: Entry[] = [];
    let size = 0;
    while (batch.length < MAX_BATCH) {
      const entry = this.#nextEntry();
      if (!entry) break;
      if (batch.length > 0 && size + entry.size > MAX_BATCH_SIZE) {
        this.#locked.unshift(entry);
        break;
      }
      size += entry.size;
      batch.push(entry);
    }
    return batch;
  }

  #nextEntry(): Entry | undefined {
    const takenBefore = this.#locked.shift();
    if (takenBefore) return takenBefore;
    for (let run = this.#small.shift(); run; run = this.#small.shift()) {
      const entry = this.#take(run);
      if (entry) return entry;
    }
    return undefined;
  }
}
