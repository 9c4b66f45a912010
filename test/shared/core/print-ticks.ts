/** Prints the ticks of expressions as JSON, in a process whose own time zone is set: argv is the zone of the calendars, then a moment. */

import { calendarOf, ticksBetween } from '#shared/core/cron-calendar.ts';

const [zone = '', from = ''] = process.argv.slice(2);
const until = { until: Number.POSITIVE_INFINITY, max: 4 };
const ticks = ['30 2 * * *', '*/30 * * * *', '0 0-4 * * *'].map((expression) =>
  ticksBetween(calendarOf(expression, zone), Date.parse(from), until),
);
process.stdout.write(JSON.stringify({ own: Intl.DateTimeFormat().resolvedOptions().timeZone, ticks }));
