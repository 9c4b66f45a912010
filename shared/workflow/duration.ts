import { z } from 'zod';
import { AppError } from '../core/errors.ts';

const durationHint = 'must be seconds, or a text such as "30 s", "2h" or "7 days", above 0 and at most 3650 days';

/** Seconds, or a text with a unit. */
export const Duration = z
  .union([z.number(), z.string()], { error: durationHint })
  .refine((value) => toMs(value) !== undefined, { message: durationHint });

/** Converts a duration to milliseconds. */
export function parseDuration(value: number | string): number {
  const ms = toMs(value);
  if (ms === undefined)
    throw new AppError('VALIDATION_ERROR', `${JSON.stringify(value)} is not a duration: it ${durationHint}`);
  return ms;
}

/** A duration in words, in the largest unit that it is a whole number of. */
export function showDuration(ms: number): string {
  const [size, name] = shownUnits.find(([unit]) => ms % unit === 0) ?? [1_000, 's'];
  const amount = ms / size;
  return `${amount} ${name === 's' || amount !== 1 ? name : name.slice(0, -1)}`;
}

const shownUnits: readonly (readonly [ms: number, name: string])[] = [
  [86_400_000, 'days'],
  [3_600_000, 'hours'],
  [60_000, 'minutes'],
];

const unitMs: ReadonlyMap<string, number> = new Map([
  ['', 1_000],
  ...named(1, 'ms', 'millisecond', 'milliseconds'),
  ...named(1_000, 's', 'sec', 'secs', 'second', 'seconds'),
  ...named(60_000, 'm', 'min', 'mins', 'minute', 'minutes'),
  ...named(3_600_000, 'h', 'hr', 'hrs', 'hour', 'hours'),
  ...named(86_400_000, 'd', 'day', 'days'),
  ...named(604_800_000, 'w', 'week', 'weeks'),
]);

function named(ms: number, ...names: string[]): [string, number][] {
  return names.map((name) => [name, ms]);
}

// A deadline must be a valid date in JavaScript and in Postgres.
const maxMs = 3_650 * 86_400_000;

function toMs(value: number | string): number | undefined {
  const [, amount, unit] = /^\s*(\d+(?:\.\d+)?)\s*([a-z]*)\s*$/i.exec(String(value)) ?? [];
  const factor = unit === undefined ? undefined : unitMs.get(unit.toLowerCase());
  if (amount === undefined || factor === undefined) return undefined;
  const ms = Math.round(Number(amount) * factor);
  return ms > 0 && ms <= maxMs ? ms : undefined;
}
