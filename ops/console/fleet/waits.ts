import type { Schemas } from '../client/types.ts';

const styles = [
  { name: 'interactive', tone: 'busy' },
  { name: 'webhook', tone: 'ok', dash: [8, 4] },
  { name: 'cron', tone: 'wait', dash: [2, 3] },
  { name: 'batch', tone: 'idle', dash: [10, 3, 2, 3] },
  { name: 'listener.events', tone: 'bad', dash: [5, 2] },
] as const;

/** The oldest work of each kind, in milliseconds. */
export type Ages = ReadonlyMap<string, number>;

export interface Seen {
  /** Milliseconds since 1970. */
  at: number;
  ages: Ages;
}

/** At one reading in two seconds: a quarter of an hour. */
const MAX_SEEN = 450;

/** Reasons that only people end: a pause lasts as long as people want. */
const ignored = new Set(['paused', 'blocked']);

/** Adds a reading to those that the page has seen. Rows tell how it is, not how it was. */
export function withReading(seen: readonly Seen[], { at, rows }: Schemas['FleetBacklogs']): readonly Seen[] {
  const time = Date.parse(at);
  if (seen.some((one) => one.at >= time)) return seen;
  const ages = new Map<string, number>();
  for (const { class: kind, queue, state, oldest } of rows) {
    if (ignored.has(state)) continue;
    const name = kind ?? queue;
    ages.set(name, Math.max(ages.get(name) ?? 0, time - Date.parse(oldest)));
  }
  return [...seen, { at: time, ages }].slice(-MAX_SEEN);
}

export interface Longest {
  name: string;
  now: number;
  longest: number;
  /** When it was the longest. */
  at: number;
}

/** The age of the oldest work of each class at each reading. */
export function linesOf(seen: readonly Seen[]) {
  return styles.map((style) => ({
    ...style,
    shape: 'line' as const,
    values: seen.map(({ ages }) => ages.get(style.name) ?? 0),
  }));
}

/** For each class, and any other queue that was seen, how old its oldest work is and has been. */
export function longestOf(seen: readonly Seen[]): Longest[] {
  const all = new Set([...styles.map(({ name }) => name), ...seen.flatMap(({ ages }) => [...ages.keys()])]);
  return [...all].map((name) => {
    const found: Longest = { name, now: seen.at(-1)?.ages.get(name) ?? 0, longest: 0, at: seen.at(-1)?.at ?? 0 };
    for (const { at, ages } of seen) {
      const age = ages.get(name) ?? 0;
      if (age > found.longest) Object.assign(found, { longest: age, at });
    }
    return found;
  });
}
