/** Units of durations, as the API reads them. */
export const units = [
  { value: 'seconds', seconds: 1 },
  { value: 'minutes', seconds: 60 },
  { value: 'hours', seconds: 3_600 },
  { value: 'days', seconds: 86_400 },
  { value: 'weeks', seconds: 604_800 },
] as const;

export type Unit = (typeof units)[number]['value'];

const spelled: Readonly<Record<string, Unit>> = {
  ...{ '': 'seconds', s: 'seconds', sec: 'seconds', secs: 'seconds', second: 'seconds', seconds: 'seconds' },
  ...{ m: 'minutes', min: 'minutes', mins: 'minutes', minute: 'minutes', minutes: 'minutes' },
  ...{ h: 'hours', hr: 'hours', hrs: 'hours', hour: 'hours', hours: 'hours', d: 'days', day: 'days', days: 'days' },
  ...{ w: 'weeks', week: 'weeks', weeks: 'weeks' },
};

interface Duration {
  amount: string;
  unit: Unit;
}

/** A duration of the API: seconds, or a text with a unit. Undefined for what has another unit, such as milliseconds. */
export function durationIn(value: unknown): Duration | undefined {
  const [, amount, unit] = /^\s*(\d+(?:\.\d+)?)\s*([a-z]*)\s*$/i.exec(String(value)) ?? [];
  if (amount === undefined || unit === undefined) return undefined;
  if (unit === '') return inLargestUnit(Number(amount));
  const known = Object.hasOwn(spelled, unit.toLowerCase()) ? spelled[unit.toLowerCase()] : undefined;
  return known && { amount, unit: known };
}

/** 5400 seconds are 90 minutes, and a week is 7 days. */
function inLargestUnit(seconds: number): Duration {
  const unit = units.slice(0, -1).findLast((one) => seconds > 0 && seconds % one.seconds === 0) ?? units[0];
  return { amount: String(seconds / unit.seconds), unit: unit.value };
}

export function secondsOf({ amount, unit }: Duration): number {
  const { seconds } = units.find(({ value }) => value === unit) ?? units[0];
  return Number(amount) * seconds;
}
