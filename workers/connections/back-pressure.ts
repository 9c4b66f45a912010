import type { Duplex } from 'node:stream';
import type { Reservation } from '#shared/concurrency/memory-budget.ts';

/** Reserves memory for the bytes that a connection receives, from the budget of the work that uses it; pauses it until there is memory. */
export interface BackPressure {
  /** Assigns the reservation of the work that uses the connection; undefined while none does. */
  assignTo(reservation: Reservation | undefined): void;
  /** Is called with the number of bytes that have arrived. */
  arrived(bytes: number, stream: Duplex): void;
  /** Reserves bytes that are announced, before they arrive. */
  announced(bytes: number, stream: Duplex): void;
  /** Releases the reserved bytes, after the work has passed the received data on. */
  settle(): void;
}

/** Bytes that are reserved at once, so that a short answer takes one reservation. */
const STEP = 256 * 1024;

export function createBackPressure(): BackPressure {
  let reservation: Reservation | undefined;
  let reserved = 0;
  /** Bytes that are reserved, and have not arrived yet. Negative while the connection is paused. */
  let credit = 0;
  let isReserving = false;

  async function reserve(stream: Duplex): Promise<void> {
    isReserving = true;
    stream.pause();
    try {
      while (reservation && credit < 0) {
        const bytes = Math.max(STEP, -credit);
        const current = reservation;
        await current.reserve(bytes);
        // The work has ended meanwhile, and its reservation was released with it.
        if (current !== reservation) break;
        reserved += bytes;
        credit += bytes;
      }
      if (!stream.destroyed) stream.resume();
    } catch (error) {
      stream.destroy(error instanceof Error ? error : new Error(String(error)));
    } finally {
      isReserving = false;
    }
  }

  function spend(bytes: number, stream: Duplex): void {
    if (!reservation) return;
    credit -= bytes;
    if (credit >= 0) return;
    if (isReserving) stream.pause();
    else void reserve(stream);
  }

  function settle(): void {
    if (isReserving) return;
    reservation?.release(reserved);
    reserved = 0;
    credit = 0;
  }

  return {
    assignTo(next) {
      reservation = next;
      reserved = 0;
      credit = 0;
    },
    arrived: spend,
    announced(bytes, stream) {
      spend(bytes, stream);
      // The announced bytes are counted again when they arrive.
      credit += bytes;
    },
    settle,
  };
}
