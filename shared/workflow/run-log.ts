import type { Json } from '../core/json.ts';
import type { LogLevel } from './nodes/kinds/log.ts';

/** A line that a node has written, as it is stored. */
export interface LogLine {
  level: LogLevel;
  /** The time by the clock of the worker. */
  at: string;
  message: string;
  data?: Json;
}

/** An amount of log: lines, and the bytes of their texts. */
export interface LogSize {
  lines: number;
  bytes: number;
}

/** Lines that an attempt of a node has written, and the amount that was not stored. */
export interface Printed {
  lines: LogLine[];
  cut: LogSize;
}

/** A longer message ends with a mark; larger data are left out. */
export const MAX_LINE_LENGTH = 8_000;
/** The limit for all attempts of a node, in all iterations. */
export const MAX_NODE_LOG: LogSize = { lines: 5_000, bytes: 1024 * 1024 };
export const MAX_RUN_LOG: LogSize = { lines: 20_000, bytes: 4 * 1024 * 1024 };

export function sizeOfLine({ message, data }: LogLine): number {
  return Buffer.byteLength(message) + (data === undefined ? 0 : Buffer.byteLength(JSON.stringify(data)));
}

/** Says how much of a log was not stored. */
export function wordCut({ lines, bytes }: LogSize): string {
  return `${lines} ${lines === 1 ? 'line' : 'lines'} (${bytes} bytes) of this attempt were not kept: the log of an attempt, a node or the run is full`;
}
