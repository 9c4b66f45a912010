/** A schedule that can be said without a cron expression. */
export type PlainSchedule =
  | { every: 'minutes'; minutes: number }
  | { every: 'hour'; minute: number }
  | { every: 'day' | 'weekday'; time: string }
  | { every: 'week'; day: number; time: string }
  | { every: 'month'; date: number; time: string };

/** Divisors of an hour: others would leave a shorter pause at its end. */
export const steps = [5, 10, 15, 20, 30];

export function expressionOf(plain: PlainSchedule): string {
  if (plain.every === 'minutes') return `*/${plain.minutes} * * * *`;
  if (plain.every === 'hour') return `${plain.minute} * * * *`;
  const [hour = 0, minute = 0] = plain.time.split(':').map(Number);
  const at = `${minute} ${hour}`;
  if (plain.every === 'week') return `${at} * * ${plain.day}`;
  if (plain.every === 'month') return `${at} ${plain.date} * *`;
  return plain.every === 'day' ? `${at} * * *` : `${at} * * 1-5`;
}

/** Undefined: an expression that has to be read as it is. */
export function plainOf(expression: string): PlainSchedule | undefined {
  const [minute = '', hour = '', date = '', month = '', day = '', ...more] = expression.trim().split(/\s+/);
  if (more.length > 0 || month !== '*') return undefined;
  const step = /^\*\/(\d+)$/.exec(minute)?.[1];
  if (step !== undefined && [hour, date, day].every((field) => field === '*'))
    return steps.includes(Number(step)) ? { every: 'minutes', minutes: Number(step) } : undefined;
  const m = within(minute, 0, 59);
  if (m === undefined) return undefined;
  if ([hour, date, day].every((field) => field === '*')) return { every: 'hour', minute: m };
  const h = within(hour, 0, 23);
  return h === undefined ? undefined : plainAt(`${twoDigits(h)}:${twoDigits(m)}`, date, day);
}

function plainAt(time: string, date: string, day: string): PlainSchedule | undefined {
  if (date === '*' && day === '*') return { every: 'day', time };
  if (date === '*' && day === '1-5') return { every: 'weekday', time };
  const ofWeek = within(day, 0, 6);
  if (date === '*' && ofWeek !== undefined) return { every: 'week', day: ofWeek, time };
  const ofMonth = within(date, 1, 31);
  return day === '*' && ofMonth !== undefined ? { every: 'month', date: ofMonth, time } : undefined;
}

function within(field: string, from: number, to: number): number | undefined {
  const value = /^\d{1,2}$/.test(field) ? Number(field) : -1;
  return value >= from && value <= to ? value : undefined;
}

function twoDigits(value: number): string {
  return String(value).padStart(2, '0');
}
