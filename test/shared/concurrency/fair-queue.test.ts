import fc from 'fast-check';
import { expect, test } from 'vitest';
import { createFairQueue, type FlowKey } from '#shared/concurrency/fair-queue.ts';

const anything = () => true;

function takeAll<T>(
  queue: { dequeue(mayStart: (item: T) => boolean): T | undefined },
  mayStart: (item: T) => boolean,
): T[] {
  const taken: T[] = [];
  for (let item = queue.dequeue(mayStart); item !== undefined; item = queue.dequeue(mayStart)) taken.push(item);
  return taken;
}

test('creators take turns, with any number of tenants each', () => {
  const queue = createFairQueue<string>();
  for (const tenantID of ['a1', 'a2', 'a3']) {
    queue.enqueue({ tenantID, creatorID: 'ann' }, `${tenantID} first`);
    queue.enqueue({ tenantID, creatorID: 'ann' }, `${tenantID} second`);
  }
  queue.enqueue({ tenantID: 'b1', creatorID: 'bob' }, 'b1 first');
  queue.enqueue({ tenantID: 'b1', creatorID: 'bob' }, 'b1 second');

  expect(takeAll(queue, anything)).toEqual([
    'a1 first',
    'b1 first',
    'a2 first',
    'b1 second',
    'a3 first',
    'a1 second',
    'a2 second',
    'a3 second',
  ]);
});

test('a new item is queued behind the waiting ones', () => {
  const queue = createFairQueue<string>();
  queue.enqueue({ tenantID: 'a' }, 'a1');
  queue.enqueue({ tenantID: 'a' }, 'a2');
  queue.enqueue({ tenantID: 'b' }, 'b1');

  expect(queue.dequeue(anything)).toBe('a1');
  queue.enqueue({ tenantID: 'c' }, 'c1');
  expect(takeAll(queue, anything)).toEqual(['b1', 'a2', 'c1']);
});

test('a priority item precedes only other items of its tenant', () => {
  const queue = createFairQueue<string>();
  queue.enqueue({ tenantID: 'b' }, 'b1');
  queue.enqueue({ tenantID: 'a' }, 'a1');
  queue.enqueue({ tenantID: 'a' }, 'again', { isFirst: true });

  expect(takeAll(queue, anything)).toEqual(['b1', 'again', 'a1']);
});

test('a short item may start while an older one of the same tenant may not', () => {
  const queue = createFairQueue<string>();
  queue.enqueue({ tenantID: 'a' }, 'long');
  queue.enqueue({ tenantID: 'a', isShort: true }, 'short');

  expect(queue.dequeue((item) => item === 'short')).toBe('short');
  expect(queue.dequeue((item) => item === 'short')).toBeUndefined();
  expect(queue.size).toBe(1);
});

test('items of one tenant start in the order of arrival, short or not', () => {
  const queue = createFairQueue<string>();
  queue.enqueue({ tenantID: 'a' }, 'long');
  queue.enqueue({ tenantID: 'a', isShort: true }, 'short');
  queue.enqueue({ tenantID: 'a' }, 'long again');

  expect(takeAll(queue, anything)).toEqual(['long', 'short', 'long again']);
});

test('an item that is not taken keeps its flow', () => {
  const queue = createFairQueue<string>();
  queue.enqueue({ tenantID: 'a' }, 'a1');
  queue.enqueue({ tenantID: 'b' }, 'b1');
  queue.enqueue({ tenantID: 'b' }, 'b2');

  expect(queue.dequeue((item) => item !== 'a1')).toBe('b1');
  expect(takeAll(queue, anything)).toEqual(['a1', 'b2']);
});

const Actions = fc.array(
  fc.oneof(
    fc.record({
      does: fc.constant('add' as const),
      tenantID: fc.constantFrom('t1', 't2', 't3'),
      creatorID: fc.constantFrom('c1', 'c2'),
      isShort: fc.boolean(),
      isFirst: fc.boolean(),
    }),
    fc.record({ does: fc.constant('take' as const), allowed: fc.integer({ min: 0, max: 7 }) }),
    fc.record({ does: fc.constant('remove' as const), at: fc.nat(200) }),
  ),
  { maxLength: 300 },
);

test('every item leaves once, taken or removed, and the size is the number of those left', () => {
  fc.assert(
    fc.property(Actions, (actions) => {
      const model = new Model();
      for (const action of actions) {
        model.apply(action);
        expect(model.queue.size).toBe(model.waiting.size);
      }
      expect(new Set(takeAll(model.queue, anything))).toEqual(new Set(model.waiting.keys()));
      expect(model.queue.size).toBe(0);
    }),
    { numRuns: 300 },
  );
});

type Action = (typeof Actions extends fc.Arbitrary<infer Value> ? Value : never) extends (infer Item)[] ? Item : never;

class Model {
  readonly queue = createFairQueue<number>();
  readonly waiting = new Map<number, FlowKey>();
  #last = 0;

  apply(action: Action): void {
    if (action.does === 'add') this.#add(action, action.isFirst);
    else if (action.does === 'take') this.#take(action.allowed);
    else this.#remove(action.at);
  }

  #add({ tenantID, creatorID, isShort }: FlowKey, isFirst: boolean): void {
    this.#last += 1;
    const flow = { tenantID, isShort: isShort ?? false, ...(creatorID !== undefined && { creatorID }) };
    this.waiting.set(this.#last, flow);
    this.queue.enqueue(flow, this.#last, { isFirst });
  }

  #take(allowed: number): void {
    const item = this.queue.dequeue((each) => (each & 7) <= allowed);
    if (item !== undefined) expect(this.waiting.delete(item)).toBe(true);
    else if (allowed === 7) expect(this.waiting.size).toBe(0);
  }

  /** Removes twice: the second time there is nothing to remove. */
  #remove(at: number): void {
    const [item, flow] = [...this.waiting][at % Math.max(this.waiting.size, 1)] ?? [];
    if (item === undefined || !flow) return;
    this.queue.remove(flow, item);
    this.queue.remove(flow, item);
    this.waiting.delete(item);
  }
}
