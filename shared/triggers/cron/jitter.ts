import { createHash } from 'node:crypto';

/** Milliseconds by which a tick begins later: up to so many seconds, the same whichever process computes it. */
export function jitterOf(cronJobID: string, tick: number, seconds: number): number {
  if (seconds === 0) return 0;
  const share = createHash('sha256').update(`${cronJobID} ${tick}`).digest().readUInt32BE(0) / 2 ** 32;
  return Math.floor(share * seconds * 1_000);
}
