const MAX = { activations: 200, length: 1_000_000, ms: 5 };

/** The pure activations that go into the commit of the outcome before them, while they are few, short and quickly computed. */
export class InlineBatch {
  readonly #now: () => number;
  readonly #endsAt: number;
  #count = 0;
  #length = 0;

  /** `length`: length of the outcome before the activations, whose handling has already kept the event loop busy. `now`: a clock in milliseconds. */
  constructor(length = 0, now: () => number = () => performance.now()) {
    this.#length = length;
    this.#now = now;
    this.#endsAt = now() + MAX.ms;
  }

  /** Counts an activation that was computed, with the length of its event's payload. */
  add(length: number): void {
    this.#count += 1;
    this.#length += length;
  }

  get count(): number {
    return this.#count;
  }

  /** Whether the next activation goes into the next commit. */
  get isFull(): boolean {
    return this.#count >= MAX.activations || this.#length > MAX.length || this.#now() > this.#endsAt;
  }
}
