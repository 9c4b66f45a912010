import { createHash } from 'node:crypto';

/** Delay of a tick in milliseconds, at most `seconds`. Derived from a hash, so that every process computes the same delay. */
export function jitterOf(cronJobID: string, tick: number, seconds: number): number {
  if (seconds === 0) return 0;
  const share = createHash('sha256').update(`${cronJobID} ${tick}`).digest().readUInt32BE(0) / 2 ** 32;
  return Math.floor(share * seconds * 1_000);
}
