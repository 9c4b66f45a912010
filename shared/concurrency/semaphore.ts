import { AppError } from '../core/errors.ts';
import { createShares } from './dynamic-share.ts';
import { createTurns, type Turn } from './fair-queue.ts';
import { placeOfWork } from './work-context.ts';

/** A limited number of places for work. Work that finds them taken waits for its turn. */
export interface Lane {
  /** Takes a place at once, or answers false. */
  take(turn: Turn): boolean;
  /**
   * Waits for a place; false when the signal was faster. Throws when too many wait. Work that holds a place of another lane
   * (`Place`) gives that back meanwhile. `isFirst` puts it before the other work of its tenant.
   */
  wait(turn: Turn, signal?: AbortSignal, options?: { isFirst?: boolean }): Promise<boolean>;
  /** Gives back a place, for the turn that it was taken for. */
  leave(turn: Turn): void;
  /** Whether there is a place for the turn now, or would be if the places of `leaving` were given back. */
  isFreeFor(turn: Turn, leaving?: readonly Turn[]): boolean;
  /** Whether work waits that would get a place if these were given back. */
  isWanted(leaving: readonly Turn[]): boolean;
  /** Takes a place or waits for one; answers with the function that gives it back, undefined when the signal was faster. */
  enter(turn: Turn, signal?: AbortSignal): Promise<(() => void) | undefined>;
  /** Does the work in a place. */
  run<T>(turn: Turn, work: () => Promise<T>): Promise<T>;
  readonly used: number;
  readonly waiting: number;
}

interface LaneOptions {
  places: number;
  /** Number of places that only short work may take. */
  reserve?: number;
  /** Places that one tenant may have at once. */
  maxPerTenant?: number;
  /** A creator may have only as many places as are still free, or so many for each free one (`createShares`). */
  sharesByCreator?: boolean | number;
  /** Further work is refused instead of waiting. */
  maxWaiting?: number;
  /** The error of a refusal. */
  tooMany?: (lane: { places: number; waiting: number }) => AppError;
}

const NONE: readonly Turn[] = [];

/** The turn of work without tenants: first come, first served. */
export const IN_ORDER: Turn = { tenantID: '' };

export function createLane({
  places,
  reserve = 0,
  maxPerTenant = Number.POSITIVE_INFINITY,
  sharesByCreator = false,
  maxWaiting = Number.POSITIVE_INFINITY,
  tooMany = rateLimited,
}: LaneOptions): Lane {
  const line = createTurns<Waiter>();
  const byTenant = new Map<string, number>();
  const countsTenants = maxPerTenant !== Number.POSITIVE_INFINITY;
  const shares = sharesByCreator ? createShares(Number(sharesByCreator)) : undefined;
  let used = 0;
  /** Places taken by work that is not short. */
  let usedByLong = 0;

  function isFreeFor(turn: Turn, leaving: readonly Turn[] = NONE): boolean {
    const { tenantID, isShort = false } = turn;
    const unused = places - used + leaving.length;
    const leavingLong = leaving.length === 0 ? 0 : leaving.filter((one) => !one.isShort).length;
    const free = isShort ? unused : Math.min(unused, places - reserve - usedByLong + leavingLong);
    if (free <= 0 || shares?.isExhausted(turn, free, leaving)) return false;
    if (!countsTenants) return true;
    return (byTenant.get(tenantID) ?? 0) - leaving.filter((one) => one.tenantID === tenantID).length < maxPerTenant;
  }

  function count(turn: Turn, change: 1 | -1): void {
    const { tenantID, isShort = false } = turn;
    used += change;
    if (!isShort) usedByLong += change;
    shares?.count(turn, change);
    if (!countsTenants) return;
    const taken = (byTenant.get(tenantID) ?? 0) + change;
    if (taken > 0) byTenant.set(tenantID, taken);
    else byTenant.delete(tenantID);
  }

  /** A free place goes to the next in line before anything that comes later can see it. */
  function serve(): void {
    for (let next = nextWaiter(); next; next = nextWaiter()) {
      count(next.turn, 1);
      next.settle(true);
    }
  }

  function nextWaiter(): Waiter | undefined {
    return line.size > 0 && used < places ? line.take(({ turn }) => isFreeFor(turn)) : undefined;
  }

  const lane: Lane = {
    get used() {
      return used;
    },
    get waiting() {
      return line.size;
    },
    // Waiting work could not start now, so taking a free place does not overtake it.
    take(turn) {
      if (!isFreeFor(turn)) return false;
      count(turn, 1);
      return true;
    },
    async wait(turn, signal, options) {
      if (signal?.aborted) return false;
      if (line.size >= maxWaiting) throw tooMany({ places, waiting: line.size });
      const { promise, resolve } = Promise.withResolvers<boolean>();
      let isSettled = false;
      const waiter: Waiter = {
        turn,
        settle(hasPlace) {
          isSettled = true;
          signal?.removeEventListener('abort', giveUp);
          resolve(hasPlace);
        },
      };
      const giveUp = () => {
        line.remove(turn, waiter);
        waiter.settle(false);
      };
      signal?.addEventListener('abort', giveUp);
      line.add(turn, waiter, options);
      serve();
      const place = isSettled ? undefined : placeOfWork();
      return await (place ? place.whileAway(promise, signal) : promise);
    },
    leave(turn) {
      count(turn, -1);
      serve();
    },
    isFreeFor,
    isWanted: (leaving) => line.size > 0 && line.has(({ turn }) => isFreeFor(turn, leaving)),
    async run(turn, work) {
      if (!lane.take(turn)) await lane.wait(turn);
      try {
        return await work();
      } finally {
        lane.leave(turn);
      }
    },
    async enter(turn, signal) {
      if (signal?.aborted) return undefined;
      if (!lane.take(turn) && !(await lane.wait(turn, signal))) return undefined;
      let isInside = true;
      return () => {
        if (isInside) lane.leave(turn);
        isInside = false;
      };
    },
  };
  return lane;
}

interface Waiter {
  turn: Turn;
  settle(hasPlace: boolean): void;
}

/** Lanes by name, each of which exists while it is used. */
export interface Lanes {
  enter(lane: NamedLane, turn: Turn, signal: AbortSignal): Promise<(() => void) | undefined>;
}

interface NamedLane extends Pick<LaneOptions, 'maxPerTenant' | 'sharesByCreator'> {
  name: string;
  places: number;
}

/** At most `maxWaitingPerPlace` wait for each place of a lane. */
export function createLanes({ maxWaitingPerPlace = 20 }: { maxWaitingPerPlace?: number } = {}): Lanes {
  const lanes = new Map<string, Lane>();

  return {
    async enter({ name, ...options }, turn, signal) {
      const lane = lanes.get(name) ?? createLane({ ...options, maxWaiting: options.places * maxWaitingPerPlace });
      lanes.set(name, lane);
      const leave = await lane.enter(turn, signal);
      const forget = () => void (lane.used + lane.waiting === 0 && lanes.delete(name));
      if (!leave) forget();
      return (
        leave &&
        (() => {
          leave();
          forget();
        })
      );
    },
  };
}

function rateLimited({ places, waiting }: { places: number; waiting: number }): AppError {
  return new AppError('RATE_LIMITED', `${places} of these are under way and ${waiting} wait`, {
    retryAfter: 1,
    reason: 'waiting line',
  });
}
