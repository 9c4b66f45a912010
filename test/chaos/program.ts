import { type Fault, planFaults } from './faults.ts';
import { createRandom, type Random } from './random.ts';
import {
  type Addition,
  addedBy,
  COUNTERS,
  childrenOf,
  eventName,
  LEAVES_BRANCHES,
  namesChild,
  planStep,
  type Step,
  valueAfter,
} from './steps.ts';

/** A workflow. The first one is the child of the others. */
export interface Shape {
  steps: readonly Step[];
  /** When its runs may begin. */
  options: Record<string, unknown>;
  /** The status of its end; with `failure` its runs fail, as they should. */
  end: 'success' | 'failure';
}

/** The fate of a run that has been started: a cancel after a time, or a second run that repeats it when it has ended. */
type Fate = { kind: 'end' } | { kind: 'cancel'; afterMs: number } | { kind: 'repeat'; from: 'start' | 'last' };

export interface PlannedRun {
  shape: number;
  n: number;
  fate: Fate;
  /** When events are sent that are sent once: before the run waits for them, or later. */
  eventsAfterMs: number;
}

/** Runs that one request starts; several as a batch. */
export interface PlannedStart {
  atMs: number;
  shape: number;
  runs: readonly PlannedRun[];
  /** The runs begin so much later. */
  laterMs: number;
}

/** A pause of a workflow, or of the intake of the tenant. */
export interface PlannedPause {
  atMs: number;
  forMs: number;
  shape: number | null;
}

/** Everything that happens in one run of chaos. It follows from the seed, the time and the backplane. */
export interface Program {
  leaseSeconds: number;
  shapes: readonly Shape[];
  starts: readonly PlannedStart[];
  pauses: readonly PlannedPause[];
  faults: readonly Fault[];
}

/** Runs that may be cancelled add to counters of their own, of which only the bounds are known. */
export const GROUPS = ['certain', 'cancelled'] as const;
export type Group = (typeof GROUPS)[number];
const SHAPES = 6;

export function planProgram(seed: number, { seconds, isRedis }: { seconds: number; isRedis: boolean }): Program {
  const random = createRandom(seed);
  const leaseSeconds = planLease(random);
  const shapes = Array.from({ length: SHAPES }, (_, index) => planShape(random, { isChild: index === 0 }));
  const starts: PlannedStart[] = [];
  for (let atMs = 0; atMs < seconds * 1000; ) {
    const start = planStart(random, atMs);
    starts.push(start);
    atMs += random.between(60, 300) * start.runs.length;
  }
  const pauses: PlannedPause[] = [];
  for (let atMs = random.between(1_000, 6_000); atMs < seconds * 1000; atMs += random.between(4_000, 10_000)) {
    const shape = random.pick([null, random.between(0, SHAPES - 1), random.between(0, SHAPES - 1)]);
    pauses.push({ atMs, forMs: random.between(300, 4_000), shape });
  }
  return { leaseSeconds, shapes, starts, pauses, faults: planFaults(random, { seconds, isRedis }) };
}

/** Eight seconds, shorter than some outages, or a length whose parts are no whole milliseconds. */
function planLease(random: Random): number {
  return random.pick([8, (2 * random.between(1_250, 4_500) + 1) / 1000]);
}

function planStart(random: Random, atMs: number): PlannedStart {
  const shape = random.between(0, SHAPES - 1);
  const isBatch = random.between(1, 30) === 1;
  const laterMs = random.between(1, 15) === 1 ? random.between(100, 4_000) : 0;
  const runs = Array.from({ length: isBatch ? random.between(2, 20) : 1 }, (): PlannedRun => {
    const chance = random.between(1, 20);
    const fate = chance <= 2 ? 'cancel' : chance === 3 ? 'repeat' : 'end';
    const run = { shape, n: random.between(0, 1_000), eventsAfterMs: random.between(0, 5_000) };
    if (fate === 'cancel') return { ...run, fate: { kind: fate, afterMs: random.between(0, 3_000) } };
    if (fate === 'repeat') return { ...run, fate: { kind: fate, from: random.pick(['start', 'last']) } };
    return { ...run, fate: { kind: 'end' } };
  });
  return { atMs, shape, runs, laterMs };
}

function planShape(random: Random, { isChild }: { isChild: boolean }): Shape {
  const steps: Step[] = [];
  const count = isChild ? 2 : random.between(2, 5);
  // A failure cancels the branches that are under way.
  const end = !isChild && random.between(1, 5) === 1 ? 'failure' : 'success';
  while (steps.length < count) {
    const step = planStep(random);
    if (isChild && namesChild(step)) continue;
    const others = [...steps, step];
    const cancels = end === 'failure' || others.some(({ kind }) => kind === 'aside');
    if (cancels && others.some(({ kind }) => LEAVES_BRANCHES.has(kind))) continue;
    steps.push(step);
  }
  return { steps, options: planOptions(random), end };
}

function planOptions(random: Random): Shape['options'] {
  const limit = random.between(3, 6);
  return random.pick<Shape['options']>([
    {},
    {},
    { priority: random.between(1, 60), class: random.pick(['interactive', 'webhook', 'cron', 'batch']) },
    {
      concurrency: { key: 'n {{ctx.input.key}}', limit, onLimit: 'queue', scope: random.pick(['workflow', 'tenant']) },
    },
    { maxRunsAtOnce: limit },
    { rate: { limit: 10 * limit, per: 'second' } },
  ]);
}

/** Runs with the same key share the limit of their workflow. */
export const keyOf = ({ n }: Pick<PlannedRun, 'n'>): number => n % KEYS;
const KEYS = 7;

/** The counters that a run adds to. */
export function groupOf({ fate }: Pick<PlannedRun, 'fate'>): Group {
  return fate.kind === 'cancel' ? 'cancelled' : 'certain';
}

/** The sum that a run adds to each counter, and its answer, by the steps of its shape alone. */
export function expected(shapes: readonly Shape[], { shape, n }: Pick<PlannedRun, 'shape' | 'n'>) {
  const added = Array.from({ length: COUNTERS }, () => 0);
  let value = n;
  let children = 0;
  const add = ({ counter, amount }: Addition) => {
    added[counter] = (added[counter] ?? 0) + amount;
  };
  for (const step of shapes[shape]?.steps ?? []) {
    for (const one of addedBy(step, value)) add(one);
    value = valueAfter(step, value);
    const own = childrenOf(step);
    if (own === 0) continue;
    children += own;
    const ofChild = expected(shapes, { shape: 0, n }).added;
    for (const [counter, amount] of ofChild.entries()) add({ counter, amount: own * amount });
  }
  return { added, value, children, fails: shapes[shape]?.end === 'failure' };
}

/** How the events of a shape's steps are told from those of others. */
export const nameOfShape = (shape: number): string => `shape${shape}`;

/** The events that a run and its children wait for and that are sent once, whenever it is. */
export function eventsOf(shapes: readonly Shape[], shape: number): { name: string; brings: number }[] {
  const steps = shapes[shape]?.steps ?? [];
  const own = steps.flatMap((step, index) => {
    if (step.kind !== 'event' || step.send !== 'once') return [];
    const { send, brings } = step;
    return [{ name: eventName(send, brings, `${nameOfShape(shape)}.${step.kind}${index}`), brings }];
  });
  return [...own, ...(steps.some((step) => childrenOf(step) > 0) ? eventsOf(shapes, 0) : [])];
}
