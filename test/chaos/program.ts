import { createRandom, type Random } from './random.ts';

/** One thing that a workflow of the program does, in the order of its steps. */
export type Step =
  | { kind: 'add'; counter: number; amount: number; failures: number }
  | { kind: 'both'; first: { counter: number; amount: number }; second: { counter: number; amount: number } }
  | { kind: 'compute'; factor: number; plus: number }
  | { kind: 'wait'; ms: number }
  | { kind: 'child' };

/** The steps of a workflow. The first workflow is the child of the others. */
export type Shape = readonly Step[];

export interface PlannedRun {
  atMs: number;
  shape: number;
  n: number;
}

export type Target = 'api' | 'worker1' | 'worker2';

export type Fault = { atMs: number; forMs: number } & (
  | { kind: 'kill' | 'terminate' | 'freeze'; target: Target }
  | { kind: 'silence' | 'cut'; target: Target; store: 'postgres' | 'redis' }
  | { kind: 'stop postgres' | 'stop redis' | 'flush redis' }
);

/** Everything that happens in one run of chaos. It follows from the seed, the time and the backplane. */
export interface Program {
  leaseSeconds: number;
  shapes: readonly Shape[];
  runs: readonly PlannedRun[];
  faults: readonly Fault[];
}

export const COUNTERS = 5;
const SHAPES = 6;
/** Thirds and halves of these are no whole milliseconds, or the lease is shorter than some outages. */
const LEASES = [8, 3.001, 2.5, 5] as const;

export function planProgram(seed: number, { seconds, isRedis }: { seconds: number; isRedis: boolean }): Program {
  const random = createRandom(seed);
  const leaseSeconds = random.pick(LEASES);
  const shapes = Array.from({ length: SHAPES }, (_, index) => planShape(random, { isChild: index === 0 }));
  const runs: PlannedRun[] = [];
  for (let atMs = 0; atMs < seconds * 1000; atMs += random.between(20, 180))
    runs.push({ atMs, shape: random.between(0, SHAPES - 1), n: random.between(0, 1_000) });
  const faults: Fault[] = [];
  for (let atMs = 2_000; atMs < seconds * 1000; atMs += random.between(800, 4_000))
    faults.push(planFault(random, { atMs, isRedis }));
  return { leaseSeconds, shapes, runs, faults };
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
  switch (random.pick(['add', 'add', 'add', 'both', 'compute', 'compute', 'wait', 'child'])) {
    case 'both':
      return { kind: 'both', first: add(), second: add() };
    case 'compute':
      return { kind: 'compute', factor: random.between(2, 5), plus: random.between(0, 9) };
    case 'wait':
      // Up to two seconds the worker keeps the run; longer ones park it.
      return { kind: 'wait', ms: random.pick([random.between(10, 400), random.between(2_100, 4_000)]) };
    case 'child':
      return { kind: 'child' };
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
    if (step.kind === 'add') add(step);
    if (step.kind === 'both') for (const one of [step.first, step.second]) add(one);
    if (step.kind === 'compute') value = value * step.factor + step.plus;
    if (step.kind !== 'child') continue;
    children += 1;
    for (const [counter, amount] of expected(shapes, { shape: 0, n }).added.entries()) add({ counter, amount });
  }
  return { added, value, children };
}

/** A fault in one line. */
export function describeFault(fault: Fault): string {
  const { atMs, forMs, kind } = fault;
  const target = 'target' in fault ? ` ${fault.target}` : '';
  const store = 'store' in fault ? ` from ${fault.store}` : '';
  return `${(atMs / 1000).toFixed(1)} s: ${kind}${target}${store} for ${(forMs / 1000).toFixed(1)} s`;
}
