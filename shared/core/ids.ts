import { randomFillSync } from 'node:crypto';

const pool = new Uint8Array(10 * 512);
let used = pool.length;
let lastMs = 0;
let counter = 0;

/** If a clock was set back by less, ids keep the later time, so that they keep rising. By more, they follow it: rows are found by that time. */
const SET_BACK_MS = 10_000;

/** A UUIDv7: sorts by time, within one millisecond of one process by order of creation (12-bit counter, RFC 9562 6.2). */
export function newID(): string {
  const now = Date.now();
  if (now > lastMs || now < lastMs - SET_BACK_MS) {
    lastMs = now;
    counter = 0;
  } else if (counter === 0xfff) {
    lastMs += 1;
    counter = 0;
  } else counter += 1;
  if (used + 8 > pool.length) {
    randomFillSync(pool);
    used = 0;
  }
  const time = lastMs.toString(16).padStart(12, '0');
  let tail = '';
  for (let i = 0; i < 8; i += 1)
    tail += (((pool[used + i] ?? 0) & (i === 0 ? 0x3f : 0xff)) | (i === 0 ? 0x80 : 0)).toString(16).padStart(2, '0');
  used += 8;
  return `${time.slice(0, 8)}-${time.slice(8)}-7${counter.toString(16).padStart(3, '0')}-${tail.slice(0, 4)}-${tail.slice(4)}`;
}

/** The smallest id of a moment. */
export function idAt(ms: number): string {
  const time = Math.max(0, ms).toString(16).padStart(12, '0');
  return `${time.slice(0, 8)}-${time.slice(8)}-7000-8000-000000000000`;
}

/** The moment at which an id was made, in milliseconds. */
export function momentOfID(id: string): number {
  return Number.parseInt(id.slice(0, 8) + id.slice(9, 13), 16);
}

/** The id before all others, from which a read by pages begins. */
export const FIRST_ID = '00000000-0000-0000-0000-000000000000';
