import { AppError } from '../core/errors.ts';
import { createShares } from './dynamic-share.ts';
import { createTurns, type Turn } from './fair-queue.ts';

/**
 * Limits the bytes of answers that a process holds at once, over all tenants. Bytes are drawn before they are read; work that finds
 * none left waits, and creators take turns. Half of the bytes are for all work. The other half is for one piece of work at a time,
 * which may draw until it is done: without it, works that have drawn a part each would wait for each other.
 */
export interface ByteAccount {
  open(turn: Turn): HeldBytes;
  readonly used: number;
  readonly waiting: number;
}

/** The bytes of one piece of work. Disposing gives them back. */
export interface HeldBytes extends Disposable {
  /** Called around a wait for bytes: the work gives back its place in a lane meanwhile. */
  whileWaiting?: (wait: Promise<boolean>) => Promise<boolean>;
  /**
   * Draws bytes, or waits for them. Rejects with PAYLOAD_TOO_LARGE if the work would hold more than one piece of work may, with
   * UNAVAILABLE when the wait was too long.
   */
  draw(bytes: number): Promise<void>;
  /** Holds at least so many, or what one piece of work may; they are in memory already. False if there is no room for them now. */
  cover(bytes: number): boolean;
  give(bytes: number): void;
}

interface Options {
  maxBytes: number;
  maxWaitMs?: number;
}

interface Waiter {
  held: Held;
  bytes: number;
  settle(error?: AppError): void;
}

interface Held {
  turn: Turn;
  shown?: HeldBytes;
  bytes: number;
  /** What it has drawn of the half for one. */
  alone: number;
  /** Its draws that wait, which it can make at once. */
  waiters: Set<Waiter>;
  isOver: boolean;
}

export function createByteAccount({ maxBytes, maxWaitMs = 30_000 }: Options): ByteAccount {
  const maxOfOne = Math.floor(maxBytes / 2);
  const line = createTurns<Waiter>();
  const shares = createShares();
  let common = 0;
  let finisher: Held | undefined;

  function hasRoom({ held, bytes }: Waiter): boolean {
    const free = maxBytes - maxOfOne - common;
    // A share counts what is drawn: two large draws of one creator would otherwise take most of it.
    return bytes <= free && !shares.isExhausted(held.turn, free - bytes + 1);
  }

  function take(waiter: Waiter): void {
    const { held, bytes } = waiter;
    held.waiters.delete(waiter);
    held.bytes += bytes;
    if (held === finisher) held.alone += bytes;
    else {
      common += bytes;
      shares.count(held.turn, bytes);
    }
  }

  /** Serves those that fit, in turn; if none does, the next in turn may draw of the half for one. */
  function serve(): void {
    for (let waiter = line.take(hasRoom); waiter; waiter = line.take(hasRoom)) {
      take(waiter);
      waiter.settle();
    }
    const next = finisher ? undefined : line.take(() => true);
    if (!next) return;
    finisher = next.held;
    for (const waiter of next.held.waiters) {
      if (waiter !== next) line.remove(next.held.turn, waiter);
      take(waiter);
      waiter.settle();
    }
  }

  async function draw(held: Held, bytes: number): Promise<void> {
    if (held.isOver || bytes <= 0) return;
    let wanted = held.bytes + bytes;
    for (const waiter of held.waiters) wanted += waiter.bytes;
    if (wanted > maxOfOne) throw tooLarge(maxOfOne);
    const { promise, resolve, reject } = Promise.withResolvers<boolean>();
    let isSettled = false;
    const settle = (error?: AppError) => {
      isSettled = true;
      if (error) reject(error);
      else resolve(true);
    };
    const waiter: Waiter = { held, bytes, settle };
    // In the line it could stand behind other work of its tenant, which waits for this work to end.
    if (held === finisher) return take(waiter);
    held.waiters.add(waiter);
    line.add(held.turn, waiter);
    serve();
    const timer = setTimeout(() => {
      line.remove(held.turn, waiter);
      held.waiters.delete(waiter);
      waiter.settle(full());
    }, maxWaitMs);
    const whileWaiting = isSettled ? undefined : held.shown?.whileWaiting;
    const drawn = promise.finally(() => clearTimeout(timer));
    await (whileWaiting ? whileWaiting(drawn) : drawn);
    // The work has ended meanwhile.
    if (held.isOver) give(held, bytes);
  }

  function cover(held: Held, bytes: number): boolean {
    const missing = Math.min(bytes, maxOfOne) - held.bytes;
    if (held.isOver || missing <= 0) return true;
    const waiter = { held, bytes: missing, settle: () => undefined };
    if (held !== finisher && !hasRoom(waiter)) return false;
    take(waiter);
    return true;
  }

  function give(held: Held, bytes: number): void {
    const given = Math.min(bytes, held.bytes);
    const fromAlone = Math.min(given, held.alone);
    held.alone -= fromAlone;
    held.bytes -= given;
    common -= given - fromAlone;
    shares.count(held.turn, fromAlone - given);
    if (finisher === held && held.alone === 0) finisher = undefined;
    serve();
  }

  return {
    open(turn) {
      const held: Held = { turn, bytes: 0, alone: 0, isOver: false, waiters: new Set() };
      held.shown = {
        draw: (bytes) => draw(held, bytes),
        cover: (bytes) => cover(held, bytes),
        give: (bytes) => give(held, bytes),
        [Symbol.dispose]() {
          held.isOver = true;
          give(held, held.bytes);
        },
      };
      return held.shown;
    },
    get used() {
      return common + (finisher?.alone ?? 0);
    },
    get waiting() {
      return line.size;
    },
  };
}

function tooLarge(maxOfOne: number): AppError {
  return new AppError(
    'PAYLOAD_TOO_LARGE',
    `The data is larger than ${maxOfOne} bytes, which is what one request may hold of HELD_MAX_BYTES: request less`,
  );
}

function full(): AppError {
  return new AppError('UNAVAILABLE', 'Other requests hold the memory for answers; retry later', { retryAfter: 5 });
}
