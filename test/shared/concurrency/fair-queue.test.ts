import fc from 'fast-check';
import { expect, test } from 'vitest';
import { createTurns, type Turn } from '#shared/concurrency/fair-queue.ts';

const anything = () => true;

function takeAll<T>(
  turns: { take(mayStart: (item: T) => boolean): T | undefined },
  mayStart: (item: T) => boolean,
): T[] {
  const taken: T[] = [];
  for (let item = turns.take(mayStart); item !== undefined; item = turns.take(mayStart)) taken.push(item);
  return taken;
}

test('creators take turns, with any number of tenants each', () => {
  const turns = createTurns<string>();
  for (const tenantID of ['a1', 'a2', 'a3']) {
    turns.add({ tenantID, creatorID: 'ann' }, `${tenantID} first`);
    turns.add({ tenantID, creatorID: 'ann' }, `${tenantID} second`);
  }
  turns.add({ tenantID: 'b1', creatorID: 'bob' }, 'b1 first');
  turns.add({ tenantID: 'b1', creatorID: 'bob' }, 'b1 second');

  expect(takeAll(turns, anything)).toEqual([
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
  const turns = createTurns<string>();
  turns.add({ tenantID: 'a' }, 'a1');
  turns.add({ tenantID: 'a' }, 'a2');
  turns.add({ tenantID: 'b' }, 'b1');

  expect(turns.take(anything)).toBe('a1');
  turns.add({ tenantID: 'c' }, 'c1');
  expect(takeAll(turns, anything)).toEqual(['b1', 'a2', 'c1']);
});

test('a priority item precedes only other items of its tenant', () => {
  const turns = createTurns<string>();
  turns.add({ tenantID: 'b' }, 'b1');
  turns.add({ tenantID: 'a' }, 'a1');
  turns.add({ tenantID: 'a' }, 'again', { isFirst: true });

  expect(takeAll(turns, anything)).toEqual(['b1', 'again', 'a1']);
});

test('a short item may start while an older one of the same tenant may not', () => {
  const turns = createTurns<string>();
  turns.add({ tenantID: 'a' }, 'long');
  turns.add({ tenantID: 'a', isShort: true }, 'short');

  expect(turns.take((item) => item === 'short')).toBe('short');
  expect(turns.take((item) => item === 'short')).toBeUndefined();
  expect(turns.size).toBe(1);
});

test('items of one tenant start in the order of arrival, short or not', () => {
  const turns = createTurns<string>();
  turns.add({ tenantID: 'a' }, 'long');
  turns.add({ tenantID: 'a', isShort: true }, 'short');
  turns.add({ tenantID: 'a' }, 'long again');

  expect(takeAll(turns, anything)).toEqual(['long', 'short', 'long again']);
});

test('an item that is not taken keeps its turn', () => {
  const turns = createTurns<string>();
  turns.add({ tenantID: 'a' }, 'a1');
  turns.add({ tenantID: 'b' }, 'b1');
  turns.add({ tenantID: 'b' }, 'b2');

  expect(turns.take((item) => item !== 'a1')).toBe('b1');
  expect(takeAll(turns, anything)).toEqual(['a1', 'b2']);
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
        expect(model.turns.size).toBe(model.waiting.size);
      }
      expect(new Set(takeAll(model.turns, anything))).toEqual(new Set(model.waiting.keys()));
      expect(model.turns.size).toBe(0);
    }),
    { numRuns: 300 },
  );
});

type Action = (typeof Actions extends fc.Arbitrary<infer Value> ? Value : never) extends (infer Item)[] ? Item : never;

class Model {
  readonly turns = createTurns<number>();
  readonly waiting = new Map<number, Turn>();
  #last = 0;

  apply(action: Action): void {
    if (action.does === 'add') this.#add(action, action.isFirst);
    else if (action.does === 'take') this.#take(action.allowed);
    else this.#remove(action.at);
  }

  #add({ tenantID, creatorID, isShort }: Turn, isFirst: boolean): void {
    this.#last += 1;
    const turn = { tenantID, isShort: isShort ?? false, ...(creatorID !== undefined && { creatorID }) };
    this.waiting.set(this.#last, turn);
    this.turns.add(turn, this.#last, { isFirst });
  }

  #take(allowed: number): void {
    const item = this.turns.take((each) => (each & 7) <= allowed);
    if (item !== undefined) expect(this.waiting.delete(item)).toBe(true);
    else if (allowed === 7) expect(this.waiting.size).toBe(0);
  }

  /** Removes twice: the second time there is nothing to remove. */
  #remove(at: number): void {
    const [item, turn] = [...this.waiting][at % Math.max(this.waiting.size, 1)] ?? [];
    if (item === undefined || !turn) return;
    this.turns.remove(turn, item);
    this.turns.remove(turn, item);
    this.waiting.delete(item);
  }
}
