import cronstrue from 'cronstrue';

/** Describes a valid cron expression in words: `every weekday at 09:00, Europe/Berlin`. */
export function describeSchedule(expression: string, timezone: string): string {
  const text = cronstrue.toString(expression, { use24HourTimeFormat: true, verbose: false });
  const daily = /^At (\d\d:\d\d)(, Monday through Friday)?$/.exec(text);
  const words = daily
    ? `every ${daily[2] ? 'weekday' : 'day'} at ${daily[1]}`
    : text.charAt(0).toLowerCase() + text.slice(1);
  return `${words}, ${timezone}`;
}
