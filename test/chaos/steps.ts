import type { Random } from './random.ts';

export interface Addition {
  counter: number;
  amount: number;
}

/** A body that is repeated for each item: it adds to a counter, may wait for something, and gives a number or fails. */
interface Body extends Addition {
  items: readonly number[];
  waitMs: number;
  /** The wait of each item. */
  inner: 'ask' | 'event' | 'child' | 'approve' | null;
  /** The index of an item that fails. */
  fails: number | null;
  isLenient: boolean;
}

/** One thing that a workflow of the program does, in the order of its steps. */
export type Step =
  | (Addition & { kind: 'add'; failures: number })
  | { kind: 'both'; first: Addition; second: Addition }
  | { kind: 'compute'; factor: number; plus: number }
  | { kind: 'keep'; plus: number }
  | { kind: 'choose'; how: 'condition' | 'expression' | 'switch'; above: number; high: Addition; low: Addition }
  | { kind: 'fan'; branches: readonly Addition[]; joinMode: 'all' | 'any' }
  | (Addition & { kind: 'disabled' })
  | { kind: 'approve'; approves: boolean; isNamed: boolean; approved: Addition; rejected: Addition }
  | { kind: 'note' }
  | { kind: 'wait'; ms: number }
  | { kind: 'ask'; form: 'fields' | 'schema'; reminders: number }
  | { kind: 'unanswered'; late: Addition }
  | (Addition & { kind: 'query' })
  | { kind: 'event'; send: Sending; brings: number; received: Addition; expired: Addition }
  | { kind: 'aside'; what: 'delay' | 'question' | 'event' }
  | (Body & { kind: 'loop'; pauseMs: number })
  | (Body & { kind: 'map'; concurrency: number; chunkSize: number })
  | { kind: 'child' };

/** When an event is sent: once, near the start of the run and remembered; when a run waits for it; or not at all. */
type Sending = 'once' | 'asked' | 'never';

export const COUNTERS = 5;
/** The answer of a person to each question; it is added to the value. */
export const ANSWER = 7;

/** Steps whose branches may still be under way when the next step begins. */
export const LEAVES_BRANCHES: ReadonlySet<Step['kind']> = new Set(['both', 'fan']);

const KINDS: [Step['kind'], ...Step['kind'][]] = [
  ...(['add', 'add', 'add', 'both', 'compute', 'compute', 'keep', 'choose', 'choose', 'fan', 'fan'] as const),
  ...(['disabled', 'approve', 'note', 'wait', 'ask', 'unanswered', 'query', 'query'] as const),
  ...(['event', 'event', 'aside', 'loop', 'loop', 'map', 'map', 'child', 'child'] as const),
];

export function planStep(random: Random): Step {
  const add = (): Addition => ({ counter: random.between(0, COUNTERS - 1), amount: random.between(1, 9) });
  const kind = random.pick(KINDS);
  switch (kind) {
    case 'both':
      return { kind, first: add(), second: add() };
    case 'compute':
      return { kind, factor: random.between(2, 5), plus: random.between(0, 9) };
    case 'keep':
      return { kind, plus: random.between(0, 9) };
    case 'choose': {
      const how = random.pick(['condition', 'expression', 'switch'] as const);
      return { kind, how, above: random.between(0, 1_000), high: add(), low: add() };
    }
    case 'fan': {
      const branches = Array.from({ length: random.between(2, 4) }, add);
      return { kind, branches, joinMode: random.pick(['all', 'any']) };
    }
    case 'approve': {
      const [approves, isNamed] = [random.pick([true, false]), random.pick([true, false])];
      return { kind, approves, isNamed, approved: add(), rejected: add() };
    }
    case 'wait':
      // Up to two seconds the worker keeps the run; longer ones park it.
      return { kind, ms: random.pick([random.between(10, 400), random.between(2_100, 4_000)]) };
    case 'ask':
      return { kind, form: random.pick(['fields', 'schema']), reminders: random.pick([0, 0, 1, 2]) };
    case 'unanswered':
      return { kind, late: add() };
    case 'event': {
      const send = random.pick(['once', 'once', 'asked', 'asked', 'never'] as const);
      return { kind, send, brings: random.between(1, 9), received: add(), expired: add() };
    }
    case 'aside':
      return { kind, what: random.pick(['delay', 'question', 'event']) };
    case 'loop':
      return { kind, ...planBody(random, add, 3), pauseMs: random.pick([0, 0, 0, 50, 2_100]) };
    case 'map':
      return { kind, ...planBody(random, add, 5), concurrency: random.between(1, 4), chunkSize: random.between(1, 3) };
    case 'add':
      return { kind, ...add(), failures: random.pick([0, 0, 0, 2]) };
    case 'query':
    case 'disabled':
      return { kind, ...add() };
    default:
      return { kind };
  }
}

function planBody(random: Random, add: () => Addition, most: number): Body {
  const items = Array.from({ length: random.between(0, most) }, () => random.between(1, 9));
  return {
    items,
    ...add(),
    waitMs: random.pick([0, 0, 0, 10, 2_100]),
    inner: random.pick([null, null, null, null, null, null, 'ask', 'event', 'child', 'approve']),
    fails: random.pick([null, null, random.between(0, most)]),
    isLenient: random.pick([true, false]),
  };
}

/** Additions of a step to counters in a run with this value; its child runs not included. */
export function addedBy(step: Step, value: number): readonly Addition[] {
  switch (step.kind) {
    case 'both':
      return [step.first, step.second];
    case 'choose':
      return [value > step.above ? step.high : step.low];
    case 'fan':
      return step.branches;
    case 'approve':
      return [step.approves ? step.approved : step.rejected];
    case 'unanswered':
      return [step.late];
    case 'event':
      return [step.send === 'never' ? step.expired : step.received];
    case 'loop':
    case 'map':
      return step.items.map(() => step);
    case 'add':
    case 'query':
      return [step];
    default:
      return [];
  }
}

export function valueAfter(step: Step, value: number): number {
  switch (step.kind) {
    case 'compute':
      return value * step.factor + step.plus;
    case 'keep':
      return 2 * value + step.plus;
    case 'ask':
      return value + ANSWER;
    case 'event':
      return step.send === 'never' ? value : value + step.brings;
    case 'loop':
    case 'map': {
      const more = { ask: ANSWER, event: step.amount, child: 0, approve: 0 };
      const each = 1 + (step.inner === null ? 0 : more[step.inner]);
      return step.items.reduce((sum, item, index) => (index === step.fails ? sum : sum + item * index + each), value);
    }
    default:
      return value;
  }
}

export function childrenOf(step: Step): number {
  if (!namesChild(step)) return 0;
  return 'items' in step ? step.items.length : 1;
}

/** Whether the graph of the step names the child, even if a loop over nothing starts none. */
export function namesChild(step: Step): boolean {
  return step.kind === 'child' || ('inner' in step && step.inner === 'child');
}

/** The name of an event that a step of a shape waits for, so that a person who reads it knows what to send. */
export function eventName(send: Sending, brings: number, position: string): string {
  return `${send} ${brings} ${position}`;
}

/** The value that the event of a name brings, if it is sent to runs that wait for it. */
export function broughtTo(name: string): number | undefined {
  const [, brings] = /^asked (\d+) /.exec(name) ?? [];
  return brings === undefined ? undefined : Number(brings);
}
