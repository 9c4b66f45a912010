import type { Duplex } from 'node:stream';
import type { HeldBytes } from '#shared/concurrency/memory-budget.ts';

/** Draws what a connection receives from the bytes of the work that it is lent to, and pauses it until they are there. */
export interface Meter {
  /** Undefined while it is not lent. */
  lendTo(held: HeldBytes | undefined): void;
  /** Call it with what arrives. */
  arrived(bytes: number, stream: Duplex): void;
  /** Draws bytes that are announced, before they arrive. */
  announced(bytes: number, stream: Duplex): void;
  /** Gives back what was drawn: the work has passed it on. */
  settle(): void;
}

/** Drawn at once, so that short answers draw once. */
const STEP = 256 * 1024;

export function createMeter(): Meter {
  let held: HeldBytes | undefined;
  let drawn = 0;
  /** Drawn, and not arrived yet. Negative while the connection is paused. */
  let credit = 0;
  let isDrawing = false;

  async function draw(stream: Duplex): Promise<void> {
    isDrawing = true;
    stream.pause();
    try {
      while (held && credit < 0) {
        const bytes = Math.max(STEP, -credit);
        const drawing = held;
        await drawing.draw(bytes);
        // The work that drew them has ended, and has given them back.
        if (drawing !== held) break;
        drawn += bytes;
        credit += bytes;
      }
      if (!stream.destroyed) stream.resume();
    } catch (error) {
      stream.destroy(error instanceof Error ? error : new Error(String(error)));
    } finally {
      isDrawing = false;
    }
  }

  function spend(bytes: number, stream: Duplex): void {
    if (!held) return;
    credit -= bytes;
    if (credit >= 0) return;
    if (isDrawing) stream.pause();
    else void draw(stream);
  }

  function settle(): void {
    if (isDrawing) return;
    held?.give(drawn);
    drawn = 0;
    credit = 0;
  }

  return {
    lendTo(next) {
      held = next;
      drawn = 0;
      credit = 0;
    },
    arrived: spend,
    announced(bytes, stream) {
      spend(bytes, stream);
      // They count again when they arrive.
      credit += bytes;
    },
    settle,
  };
}
