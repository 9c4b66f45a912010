import type { Server } from 'socket.io';
import { AppError } from '#shared/core/errors.ts';
import { isExact } from '#shared/core/exact-number.ts';
import { faultOfLossy } from '#shared/core/lossless-json.ts';

/** Stands in the payload of an event for a number that a double does not hold. */
class LossyValue {
  readonly fault: string;

  constructor(fault: string) {
    this.fault = fault;
  }
}

/** Marks numbers of events that would be rounded. The decoder cannot refuse them: for an error it closes the connection. */
export function markLossyNumbers(io: Pick<Server, '_parser'>): void {
  const { Decoder } = io._parser;
  class MarkingDecoder extends Decoder {
    constructor() {
      super({ reviver: mark });
    }
  }
  Object.assign(io, { _parser: { ...io._parser, Decoder: MarkingDecoder } });
}

/** TypeScript's declarations lack the third parameter. A message has at most 64 kB, so that a function for each value is fast enough. */
function mark(key: string, value: unknown, { source }: { source?: string } = {}): unknown {
  return typeof value === 'number' && source !== undefined && !isExact(source)
    ? new LossyValue(faultOfLossy(key, source))
    : value;
}

/** Refuses an event with such a number, as a request over HTTP is. */
export function refuseLossyNumbers(payload: unknown): void {
  const left = [payload];
  for (let part = left.pop(); part !== undefined; part = left.pop()) {
    if (part instanceof LossyValue) throw new AppError('VALIDATION_ERROR', part.fault);
    if (typeof part === 'object' && part !== null)
      for (const inner of Object.values(part)) if (typeof inner === 'object' && inner !== null) left.push(inner);
  }
}
