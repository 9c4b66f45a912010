import { AppError } from './errors.ts';

/** Places that are few, by name: who finds them taken waits in line, and is refused when the line is long. */
export interface Lanes {
  /** Waits for a place and answers with the function that gives it back; undefined when the signal was faster. */
  enter(name: string, places: number, signal: AbortSignal): Promise<(() => void) | undefined>;
}

interface Lane {
  taken: number;
  line: Set<() => void>;
}

/** So many wait for each place. */
export function createLanes({ line = 20 }: { line?: number } = {}): Lanes {
  const lanes = new Map<string, Lane>();

  /** Whoever waits takes over the place, so that nobody new can come between. */
  function leave(name: string, lane: Lane): void {
    const [next] = lane.line;
    if (next) return next();
    lane.taken -= 1;
    if (lane.taken === 0) lanes.delete(name);
  }

  function wait(lane: Lane, signal: AbortSignal): Promise<boolean> {
    const { promise, resolve } = Promise.withResolvers<boolean>();
    const settle = (mine: boolean) => {
      lane.line.delete(take);
      signal.removeEventListener('abort', giveUp);
      resolve(mine);
    };
    const take = () => settle(true);
    const giveUp = () => settle(false);
    lane.line.add(take);
    signal.addEventListener('abort', giveUp);
    return promise;
  }

  return {
    async enter(name, places, signal) {
      if (signal.aborted) return undefined;
      const lane = lanes.get(name) ?? { taken: 0, line: new Set() };
      lanes.set(name, lane);
      if (lane.taken < places) lane.taken += 1;
      else if (lane.line.size >= places * line)
        throw new AppError('RATE_LIMITED', `${places} of these are under way and ${lane.line.size} wait`, {
          retryAfter: 1,
        });
      else if (!(await wait(lane, signal))) return undefined;

      let isInside = true;
      return () => {
        if (isInside) leave(name, lane);
        isInside = false;
      };
    },
  };
}
