import { LRUCache } from 'lru-cache';
import type { Logger } from './logger.ts';

const INTERVAL_MS = 30_000;
const MAX_KINDS = 100;

/** Writes a warning about an error, with a text and further fields. */
export type Warn = (error: unknown, text: string, about?: { queue?: string }) => void;

interface Kind {
  nextAt: number;
  suppressed: number;
}

/**
 * Warnings about errors that occur many times a second while a server is away. Errors of one kind (text, queue and message) are written at
 * most every 30 s; the next line says how many were left out.
 */
export function createThrottledWarning(logger: Logger): Warn {
  const kinds = new LRUCache<string, Kind>({ max: MAX_KINDS });

  return (error, text, about = {}) => {
    const message = error instanceof Error ? error.message : String(error);
    const key = [text, about.queue, message].join('\n');
    const kind = kinds.get(key) ?? { nextAt: 0, suppressed: 0 };
    kinds.set(key, kind);
    const now = performance.now();
    if (now < kind.nextAt) {
      kind.suppressed += 1;
      return;
    }
    logger.warn({ err: error, ...about, ...(kind.suppressed > 0 && { suppressed: kind.suppressed }) }, text);
    Object.assign(kind, { nextAt: now + INTERVAL_MS, suppressed: 0 });
  };
}
