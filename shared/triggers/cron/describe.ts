import cronstrue from 'cronstrue';

/** Describes a valid cron expression in words: `every weekday at 09:00, Europe/Berlin`. */
export function describeSchedule(expression: string, timezone: string): string {
  const text = inEither(expression) ?? inWords(expression);
  const daily = /^At (\d\d:\d\d)(, Monday through Friday)?$/.exec(text);
  const words = daily
    ? `every ${daily[2] ? 'weekday' : 'day'} at ${daily[1]}`
    : text.charAt(0).toLowerCase() + text.slice(1);
  return `${words}, ${timezone}`;
}

function inWords(expression: string): string {
  return cronstrue.toString(expression, { use24HourTimeFormat: true, verbose: false });
}

/**
 * The words of an expression that names days of the month and days of the week: a day is due that is one or the other. The package joins them by
 * "and". Undefined for other expressions.
 */
function inEither(expression: string): string | undefined {
  const [minute, hour, day = '', month, weekday = ''] = expression.split(' ');
  if (isEvery(day) || isEvery(weekday)) return undefined;
  const time = inWords(`${minute} ${hour} * * *`);
  const after = (rest: string) => inWords(`${minute} ${hour} ${rest}`).slice(time.length);
  const onWeekday = after(`* * ${weekday}`).replace(/^, (?:only )?/, '');
  return `${time}${after(`${day} * *`)} or ${onWeekday}${after(`* ${month} *`)}`;
}

function isEvery(field: string): boolean {
  return field === '*' || field === '?';
}
