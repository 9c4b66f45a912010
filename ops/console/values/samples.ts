/** Where the samples of values come from, in words. */
export const samples = {
  test: {
    there: 'in the last test',
    unknown: 'The last test has no value for this.',
    lacks: 'The last test has no value for',
    later: 'A test shows the value that this has.',
    toSee: 'Test the workflow to see values here.',
    reading: 'Reading what the step gave in the last test …',
    none: 'At this step there is no',
  },
  input: {
    there: 'in the last test',
    unknown: 'The last test had no value for this.',
    lacks: 'The last test had no value for',
    later: 'A test shows the value that this has.',
    toSee: 'Test the workflow to see values here.',
    reading: 'Reading the input of the last test …',
    none: 'Before a run begins there is no',
  },
  page: {
    there: 'now',
    unknown: 'It has no value now.',
    lacks: 'There is no value now for',
    later: 'It has no value now.',
    toSee: 'Values are shown here once the page is drawn.',
    reading: 'Reading …',
    none: 'This page has no',
  },
  event: {
    there: 'in the newest event',
    unknown: 'The newest event has no value for this.',
    lacks: 'The newest event has no value for',
    later: 'The first event shows the value that this has.',
    toSee: 'Values are shown here when an event has come.',
    reading: 'Reading the event …',
    none: 'Here is no',
  },
} as const;

export type SampleSource = keyof typeof samples;
