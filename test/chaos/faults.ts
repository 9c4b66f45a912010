import type { Random } from './random.ts';

export type Target = 'api' | 'worker1' | 'worker2';

type PlannedFault = { forMs: number } & (
  | { kind: 'kill' | 'terminate' | 'freeze'; target: Target }
  | { kind: 'silence' | 'cut'; target: Target; store: 'postgres' | 'redis' }
  | { kind: 'stop postgres' | 'stop redis' | 'flush redis' }
);

export type Fault = PlannedFault & { atMs: number };

/** The longest fault; in a short program half of its time. */
const MAX_MS = 12_000;

/** In a program of this length no kind of fault is left to chance. */
const LONG_SECONDS = 50;

export function planFaults(random: Random, { seconds, isRedis }: { seconds: number; isRedis: boolean }): Fault[] {
  const faults: Fault[] = [];
  for (let atMs = 2_000; atMs < seconds * 1000; atMs += random.between(800, 4_000))
    faults.push(planFault(random, { atMs, isRedis, maxMs: Math.min(MAX_MS, seconds * 500) }));
  if (seconds >= LONG_SECONDS)
    for (const fault of always(random, { isRedis }))
      faults.push({ ...fault, atMs: random.between(2_000, (seconds - 15) * 1000) });
  return faults.toSorted((a, b) => a.atMs - b.atMs);
}

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

function planFault(random: Random, { atMs, isRedis, maxMs }: { atMs: number; isRedis: boolean; maxMs: number }): Fault {
  const target = random.pick(['worker1', 'worker2', 'worker1', 'worker2', 'api'] as const);
  const kinds = ['kill', 'kill', 'kill', 'terminate', 'freeze', 'silence', 'cut', 'stop postgres'] as const;
  const kind = random.pick(isRedis ? ([...kinds, 'stop redis', 'flush redis'] as const) : kinds);
  const forMs = random.pick([random.between(200, 2_000), random.between(1_000, maxMs)]);
  const store = random.pick(isRedis ? (['postgres', 'redis'] as const) : (['postgres'] as const));
  if (kind === 'stop postgres' || kind === 'stop redis' || kind === 'flush redis') return { atMs, forMs, kind };
  if (kind === 'silence' || kind === 'cut') return { atMs, forMs, kind, target, store };
  return { atMs, forMs, kind, target };
}

/** A fault in one line. */
export function describeFault(fault: Fault): string {
  const { atMs, forMs, kind } = fault;
  const target = 'target' in fault ? ` ${fault.target}` : '';
  const store = 'store' in fault ? ` from ${fault.store}` : '';
  return `${(atMs / 1000).toFixed(1)} s: ${kind}${target}${store} for ${(forMs / 1000).toFixed(1)} s`;
}
