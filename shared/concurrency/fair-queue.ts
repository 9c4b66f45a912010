/** The tenant of waiting work, and the tenant's creator. A tenant whose creator is not given counts as its own creator. */
export interface FlowKey {
  readonly tenantID: string;
  /**
   * The user who created the tenant. Not the caller: a tenant with a hundred members would be served a hundred times as often, and
   * accounts are easily made.
   */
  readonly creatorID?: string;
  /** Whether the work ends soon, such as a ping or a lookup; a semaphore may have permits for such work alone. */
  readonly isShort?: boolean;
}

/**
 * A queue of waiting work, served by round robin over the creators, and over the tenants of each creator; the work of one tenant is
 * served in the order in which it came. So a creator gains nothing by making more tenants.
 */
export interface FairQueue<T> {
  /** `isFirst` puts the item before other items of its tenant. */
  enqueue(flow: FlowKey, item: T, options?: { isFirst?: boolean }): void;
  remove(flow: FlowKey, item: T): void;
  /**
   * Dequeues the next item that may start, undefined when there is none. Of each tenant only the oldest short and the oldest other
   * item are considered: later ones wait behind them.
   */
  dequeue(mayStart: (item: T) => boolean): T | undefined;
  /** Whether `dequeue` would find an item. */
  has(mayStart: (item: T) => boolean): boolean;
  /** Dequeues all items. */
  drain(): T[];
  readonly size: number;
}

/** Waiting items of one tenant. */
interface Waiting<T> {
  readonly short: Queue<T>;
  readonly other: Queue<T>;
}

export function createFairQueue<T>(): FairQueue<T> {
  /** Items by creator, then by tenant, both in the order in which they are served next. */
  const creators = new Map<string, Map<string, Waiting<T>>>();
  let arrivals = 0;
  let size = 0;

  function takeFrom(tenants: Map<string, Waiting<T>>, mayStart: (item: T) => boolean): T | undefined {
    for (const [tenantID, waiting] of tenants) {
      const item = takeOldest(waiting, mayStart);
      if (item === undefined) continue;
      tenants.delete(tenantID);
      if (!isEmpty(waiting)) tenants.set(tenantID, waiting);
      return item;
    }
    return undefined;
  }

  const fairQueue: FairQueue<T> = {
    get size() {
      return size;
    },
    enqueue({ tenantID, creatorID = tenantID, isShort = false }, item, { isFirst = false } = {}) {
      const tenants = entryOf(creators, creatorID, () => new Map<string, Waiting<T>>());
      const waiting = entryOf(tenants, tenantID, () => ({ short: new Queue<T>(), other: new Queue<T>() }));
      arrivals += 1;
      const queue = isShort ? waiting.short : waiting.other;
      if (isFirst) queue.unshift(item, -arrivals);
      else queue.push(item, arrivals);
      size += 1;
    },
    remove({ tenantID, creatorID = tenantID, isShort = false }, item) {
      const tenants = creators.get(creatorID);
      const waiting = tenants?.get(tenantID);
      if (!tenants || !waiting?.[isShort ? 'short' : 'other'].remove(item)) return;
      size -= 1;
      if (isEmpty(waiting)) tenants.delete(tenantID);
      if (tenants.size === 0) creators.delete(creatorID);
    },
    dequeue(mayStart) {
      for (const [creatorID, tenants] of creators) {
        const item = takeFrom(tenants, mayStart);
        if (item === undefined) continue;
        creators.delete(creatorID);
        if (tenants.size > 0) creators.set(creatorID, tenants);
        size -= 1;
        return item;
      }
      return undefined;
    },
    has(mayStart) {
      for (const tenants of creators.values())
        for (const waiting of tenants.values()) if (findOldest(waiting, mayStart)) return true;
      return false;
    },
    drain() {
      const all: T[] = [];
      for (let item = fairQueue.dequeue(() => true); item !== undefined; item = fairQueue.dequeue(() => true))
        all.push(item);
      return all;
    },
  };
  return fairQueue;
}

function isEmpty({ short, other }: Waiting<unknown>): boolean {
  return short.head === undefined && other.head === undefined;
}

function takeOldest<T>(waiting: Waiting<T>, mayStart: (item: T) => boolean): T | undefined {
  const queue = findOldest(waiting, mayStart);
  const item = queue?.head?.item;
  queue?.shift();
  return item;
}

/** The queue whose head is the oldest item that may start. */
function findOldest<T>({ short, other }: Waiting<T>, mayStart: (item: T) => boolean): Queue<T> | undefined {
  const isShortOlder = (short.head?.arrival ?? Number.POSITIVE_INFINITY) < (other.head?.arrival ?? 0);
  return (isShortOlder ? [short, other] : [other, short]).find(({ head }) => head && mayStart(head.item));
}

interface Queued<T> {
  item: T;
  arrival: number;
}

/** First in, first out. An array whose start moves: `Array.shift` copies a long queue each time. */
class Queue<T> {
  #items: (Queued<T> | undefined)[] = [];
  #start = 0;

  get head(): Queued<T> | undefined {
    return this.#items[this.#start];
  }

  push(item: T, arrival: number): void {
    this.#items.push({ item, arrival });
  }

  unshift(item: T, arrival: number): void {
    this.#items.splice(0, this.#start, { item, arrival });
    this.#start = 0;
  }

  shift(): void {
    this.#items[this.#start] = undefined;
    this.#start += 1;
    if (this.#start < 64 || this.#start * 2 < this.#items.length) return;
    this.#items = this.#items.slice(this.#start);
    this.#start = 0;
  }

  remove(item: T): boolean {
    const index = this.#items.findIndex((queued) => queued?.item === item);
    if (index >= 0) this.#items.splice(index, 1);
    return index >= 0;
  }
}

function entryOf<K, V>(map: Map<K, V>, key: K, make: () => V): V {
  const known = map.get(key);
  if (known !== undefined) return known;
  const made = make();
  map.set(key, made);
  return made;
}
