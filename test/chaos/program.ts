import { createRandom, type Random } from './random.ts';

/** One thing that a workflow of the program does, in the order of its steps. */
export type Step =
  | { kind: 'add'; counter: number; amount: number; failures: number }
  | { kind: 'both'; first: { counter: number; amount: number }; second: { counter: number; amount: number } }
  | { kind: 'compute'; factor: number; plus: number }
  | { kind: 'wait'; ms: number }
  | { kind: 'ask' }
  | { kind: 'query'; counter: number; amount: number }
  | { kind: 'loop'; items: readonly number[]; counter: number; amount: number; waitMs: number; pauseMs: number }
  | {
      kind: 'map';
      items: readonly number[];
      counter: number;
      amount: number;
      waitMs: number;
      concurrency: number;
      chunkSize: number;
    }
  | { kind: 'child' };

/** The steps of a workflow. The first workflow is the child of the others. */
export type Shape = readonly Step[];

export interface PlannedRun {
  atMs: number;
  shape: number;
  n: number;
}

export type Target = 'api' | 'worker1' | 'worker2';

type PlannedFault = { forMs: number } & (
  | { kind: 'kill' | 'terminate' | 'freeze'; target: Target }
  | { kind: 'silence' | 'cut'; target: Target; store: 'postgres' | 'redis' }
  | { kind: 'stop postgres' | 'stop redis' | 'flush redis' }
);

export type Fault = PlannedFault & { atMs: number };

/** Everything that happens in one run of chaos. It follows from the seed, the time and the backplane. */
export interface Program {
  leaseSeconds: number;
  shapes: readonly Shape[];
  runs: readonly PlannedRun[];
  faults: readonly Fault[];
}

export const COUNTERS = 5;
/** What a person answers to each question; it is added to the value. */
export const ANSWER = 7;
const SHAPES = 6;

export function planProgram(seed: number, { seconds, isRedis }: { seconds: number; isRedis: boolean }): Program {
  const random = createRandom(seed);
  const leaseSeconds = planLease(random);
  const shapes = Array.from({ length: SHAPES }, (_, index) => planShape(random, { isChild: index === 0 }));
  const runs: PlannedRun[] = [];
  for (let atMs = 0; atMs < seconds * 1000; atMs += random.between(20, 180))
    runs.push({ atMs, shape: random.between(0, SHAPES - 1), n: random.between(0, 1_000) });
  const faults: Fault[] = [];
  for (let atMs = 2_000; atMs < seconds * 1000; atMs += random.between(800, 4_000))
    faults.push(planFault(random, { atMs, isRedis }));
  if (seconds >= LONG_SECONDS)
    for (const fault of always(random, { isRedis }))
      faults.push({ ...fault, atMs: random.between(2_000, (seconds - 15) * 1000) });
  return { leaseSeconds, shapes, runs, faults: faults.toSorted((a, b) => a.atMs - b.atMs) };
}

/** Eight seconds, shorter than some outages, or a length whose parts are no whole milliseconds. */
function planLease(random: Random): number {
  return random.pick([8, (2 * random.between(1_250, 4_500) + 1) / 1000]);
}

/** In a program of this length no kind of fault is left to chance. */
const LONG_SECONDS = 50;

function always(random: Random, { isRedis }: { isRedis: boolean }): PlannedFault[] {
  const worker = () => random.pick(['worker1', 'worker2'] as const);
  const faults: PlannedFault[] = [
    { kind: 'kill', target: worker(), forMs: 1_000 },
    { kind: 'kill', target: 'api', forMs: 1_000 },
    { kind: 'terminate', target: worker(), forMs: 1_000 },
    { kind: 'freeze', target: worker(), forMs: random.between(3_000, 12_000) },
    { kind: 'silence', target: worker(), store: 'postgres', forMs: random.between(3_000, 12_000) },
    { kind: 'stop postgres', forMs: 500 },
    { kind: 'stop postgres', forMs: 12_000 },
  ];
  if (!isRedis) return faults;
  return [
    ...faults,
    { kind: 'silence', target: worker(), store: 'redis', forMs: random.between(3_000, 12_000) },
    { kind: 'flush redis', forMs: 0 },
    { kind: 'stop redis', forMs: 1_000 },
  ];
}

function planShape(random: Random, { isChild }: { isChild: boolean }): Shape {
  const steps: Step[] = [];
  const count = isChild ? 2 : random.between(2, 6);
  while (steps.length < count) {
    const step = planStep(random);
    // One level of children, and one child a run.
    if (step.kind === 'child' && (isChild || steps.some(({ kind }) => kind === 'child'))) continue;
    steps.push(step);
  }
  return steps;
}

function planStep(random: Random): Step {
  const add = () => ({ counter: random.between(0, COUNTERS - 1), amount: random.between(1, 9) });
  switch (
    random.pick([
      'add',
      'add',
      'add',
      'both',
      'compute',
      'compute',
      'wait',
      'child',
      'ask',
      'query',
      'query',
      'loop',
      'map',
    ])
  ) {
    case 'both':
      return { kind: 'both', first: add(), second: add() };
    case 'compute':
      return { kind: 'compute', factor: random.between(2, 5), plus: random.between(0, 9) };
    case 'wait':
      // Up to two seconds the worker keeps the run; longer ones park it.
      return { kind: 'wait', ms: random.pick([random.between(10, 400), random.between(2_100, 4_000)]) };
    case 'loop':
      return {
        kind: 'loop',
        items: Array.from({ length: random.between(0, 4) }, () => random.between(1, 9)),
        ...add(),
        waitMs: random.pick([0, 10, 2_100]),
        pauseMs: random.pick([0, 0, 50, 2_100]),
      };
    case 'map':
      return {
        kind: 'map',
        items: Array.from({ length: random.between(0, 8) }, () => random.between(1, 9)),
        ...add(),
        waitMs: random.pick([0, 0, 10, 2_100]),
        concurrency: random.between(1, 4),
        chunkSize: random.between(1, 3),
      };
    case 'child':
      return { kind: 'child' };
    case 'ask':
      return { kind: 'ask' };
    case 'query':
      return { kind: 'query', ...add() };
    default:
      return { kind: 'add', ...add(), failures: random.pick([0, 0, 0, 2]) };
  }
}

function planFault(random: Random, { atMs, isRedis }: { atMs: number; isRedis: boolean }): Fault {
  const target = random.pick(['worker1', 'worker2', 'worker1', 'worker2', 'api'] as const);
  const kinds = ['kill', 'kill', 'kill', 'terminate', 'freeze', 'silence', 'cut', 'stop postgres'] as const;
  const kind = random.pick(isRedis ? ([...kinds, 'stop redis', 'flush redis'] as const) : kinds);
  const forMs = random.pick([random.between(200, 2_000), random.between(1_000, 12_000)]);
  const store = random.pick(isRedis ? (['postgres', 'redis'] as const) : (['postgres'] as const));
  if (kind === 'stop postgres' || kind === 'stop redis' || kind === 'flush redis') return { atMs, forMs, kind };
  if (kind === 'silence' || kind === 'cut') return { atMs, forMs, kind, target, store };
  return { atMs, forMs, kind, target };
}

/** What a run adds to each counter, and its answer, by the steps of its shape alone. */
export function expected(shapes: readonly Shape[], { shape, n }: Pick<PlannedRun, 'shape' | 'n'>) {
  const added = Array.from({ length: COUNTERS }, () => 0);
  let value = n;
  let children = 0;
  const add = ({ counter, amount }: { counter: number; amount: number }) => {
    added[counter] = (added[counter] ?? 0) + amount;
  };
  for (const step of shapes[shape] ?? []) {
    for (const one of addedBy(step)) add(one);
    if (step.kind === 'compute') value = value * step.factor + step.plus;
    if (step.kind === 'ask') value += ANSWER;
    if (step.kind === 'loop' || step.kind === 'map')
      value = step.items.reduce((sum, item, index) => sum + item * index + 1, value);
    if (step.kind !== 'child') continue;
    children += 1;
    for (const [counter, amount] of expected(shapes, { shape: 0, n }).added.entries()) add({ counter, amount });
  }
  return { added, value, children };
}

function addedBy(step: Step): readonly { counter: number; amount: number }[] {
  if (step.kind === 'both') return [step.first, step.second];
  if (step.kind === 'loop' || step.kind === 'map') return step.items.map(() => step);
  return step.kind === 'add' || step.kind === 'query' ? [step] : [];
}

/** A fault in one line. */
export function describeFault(fault: Fault): string {
  const { atMs, forMs, kind } = fault;
  const target = 'target' in fault ? ` ${fault.target}` : '';
  const store = 'store' in fault ? ` from ${fault.store}` : '';
  return `${(atMs / 1000).toFixed(1)} s: ${kind}${target}${store} for ${(forMs / 1000).toFixed(1)} s`;
}
