import { AppError } from '../core/errors.ts';
import { createDynamicLimit } from './dynamic-limit.ts';
import { createFairQueue, type FlowKey } from './fair-queue.ts';

/**
 * Limits the bytes of answers in the memory of a process, over all tenants. Work reserves bytes before it reads them. If none are left,
 * it waits in a fair queue. Half of the bytes are shared by all work. The other half is for one reservation at a time, the exempt one,
 * which may grow until its work is done: without it, works that have reserved a part each would wait for each other.
 */
export interface MemoryBudget {
  openReservation(flow: FlowKey): Reservation;
  readonly used: number;
  readonly waiting: number;
}

/** The bytes of one piece of work. Disposing releases them. */
export interface Reservation extends Disposable {
  /** Called around a wait for bytes: the work releases its permit of a semaphore meanwhile. */
  whileWaiting?: (wait: Promise<boolean>) => Promise<boolean>;
  /**
   * Reserves further bytes, or waits for them. Rejects with PAYLOAD_TOO_LARGE if the work would exceed the maximum of one reservation, with
   * UNAVAILABLE when the wait was too long.
   */
  reserve(bytes: number): Promise<void>;
  /**
   * Raises the reservation to `bytes`, or to the maximum of one reservation, for bytes that are in memory already. Does not wait: false if
   * the budget has too little left.
   */
  tryReserve(bytes: number): boolean;
  release(bytes: number): void;
}

interface Options {
  maxBytes: number;
  maxWaitMs?: number;
}

interface Waiter {
  owner: Owner;
  bytes: number;
  settle(error?: AppError): void;
}

/** The state of a reservation. */
interface Owner {
  flow: FlowKey;
  reservation?: Reservation;
  bytes: number;
  /** Bytes that were reserved while this was the exempt reservation, from its half of the budget. */
  exemptBytes: number;
  /** Waits for bytes, of which several may be under way at once. */
  waiters: Set<Waiter>;
  isOver: boolean;
}

export function createMemoryBudget({ maxBytes, maxWaitMs = 30_000 }: Options): MemoryBudget {
  const maxPerReservation = Math.floor(maxBytes / 2);
  const queue = createFairQueue<Waiter>();
  const byCreator = createDynamicLimit();
  let sharedBytes = 0;
  let exempt: Owner | undefined;

  function fits({ owner, bytes }: Waiter): boolean {
    const free = maxBytes - maxPerReservation - sharedBytes;
    // The limit also counts the requested bytes: otherwise two large requests of one creator could get most of what is free.
    return bytes <= free && !byCreator.isReached(owner.flow, free - bytes + 1);
  }

  function grant(waiter: Waiter): void {
    const { owner, bytes } = waiter;
    owner.waiters.delete(waiter);
    owner.bytes += bytes;
    if (owner === exempt) owner.exemptBytes += bytes;
    else {
      sharedBytes += bytes;
      byCreator.count(owner.flow, bytes);
    }
  }

  /** Serves the waiters that fit. If none does, the next in the queue becomes the exempt one. */
  function serve(): void {
    for (let waiter = queue.dequeue(fits); waiter; waiter = queue.dequeue(fits)) {
      grant(waiter);
      waiter.settle();
    }
    const next = exempt ? undefined : queue.dequeue(() => true);
    if (!next) return;
    exempt = next.owner;
    for (const waiter of next.owner.waiters) {
      if (waiter !== next) queue.remove(next.owner.flow, waiter);
      grant(waiter);
      waiter.settle();
    }
  }

  async function reserve(owner: Owner, bytes: number): Promise<void> {
    if (owner.isOver || bytes <= 0) return;
    let wanted = owner.bytes + bytes;
    for (const waiter of owner.waiters) wanted += waiter.bytes;
    if (wanted > maxPerReservation) throw tooLarge(maxPerReservation);
    const { promise, resolve, reject } = Promise.withResolvers<boolean>();
    let isSettled = false;
    const settle = (error?: AppError) => {
      isSettled = true;
      if (error) reject(error);
      else resolve(true);
    };
    const waiter: Waiter = { owner, bytes, settle };
    // Not queued: in the queue it could wait behind other work of its tenant, which itself waits until this work ends.
    if (owner === exempt) return grant(waiter);
    owner.waiters.add(waiter);
    queue.enqueue(owner.flow, waiter);
    serve();
    const timer = setTimeout(() => {
      queue.remove(owner.flow, waiter);
      owner.waiters.delete(waiter);
      waiter.settle(full());
    }, maxWaitMs);
    const whileWaiting = isSettled ? undefined : owner.reservation?.whileWaiting;
    const granted = promise.finally(() => clearTimeout(timer));
    await (whileWaiting ? whileWaiting(granted) : granted);
    // If the work has ended during the wait, nothing else would release the bytes.
    if (owner.isOver) release(owner, bytes);
  }

  function tryReserve(owner: Owner, bytes: number): boolean {
    const missing = Math.min(bytes, maxPerReservation) - owner.bytes;
    if (owner.isOver || missing <= 0) return true;
    const waiter = { owner, bytes: missing, settle: () => undefined };
    if (owner !== exempt && !fits(waiter)) return false;
    grant(waiter);
    return true;
  }

  function release(owner: Owner, bytes: number): void {
    const released = Math.min(bytes, owner.bytes);
    const fromExempt = Math.min(released, owner.exemptBytes);
    owner.exemptBytes -= fromExempt;
    owner.bytes -= released;
    sharedBytes -= released - fromExempt;
    byCreator.count(owner.flow, fromExempt - released);
    if (exempt === owner && owner.exemptBytes === 0) exempt = undefined;
    serve();
  }

  return {
    openReservation(flow) {
      const owner: Owner = { flow, bytes: 0, exemptBytes: 0, isOver: false, waiters: new Set() };
      owner.reservation = {
        reserve: (bytes) => reserve(owner, bytes),
        tryReserve: (bytes) => tryReserve(owner, bytes),
        release: (bytes) => release(owner, bytes),
        [Symbol.dispose]() {
          owner.isOver = true;
          release(owner, owner.bytes);
        },
      };
      return owner.reservation;
    },
    get used() {
      return sharedBytes + (exempt?.exemptBytes ?? 0);
    },
    get waiting() {
      return queue.size;
    },
  };
}

function tooLarge(maxPerReservation: number): AppError {
  return new AppError(
    'PAYLOAD_TOO_LARGE',
    `The data is larger than ${maxPerReservation} bytes, which is what one request may hold of HELD_MAX_BYTES: request less`,
  );
}

function full(): AppError {
  return new AppError('UNAVAILABLE', 'Other requests hold the memory for answers; retry later', { retryAfter: 5 });
}
