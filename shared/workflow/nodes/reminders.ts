import { z } from 'zod';
import { namedEnum } from '../../core/schema/enum-names.ts';

/** The time of a reminder of a question to the people who may answer it. */
export const Reminder = z.object({
  minutes: z
    .number()
    .gt(0)
    .max(10_080)
    .meta({ title: 'Minutes', description: 'How long after the question was asked, or before it expires' }),
  from: namedEnum({ asked: 'After it was asked', expiry: 'Before it expires' })
    .default('asked')
    .meta({ title: 'Counted', description: 'From which of the two' }),
});

interface Reminding {
  expiryMinutes: number;
  reminders?: readonly z.output<typeof Reminder>[] | undefined;
}

/**
 * The times of reminders in minutes after the question was asked, sorted, without repetitions and without those after its expiry. There may be
 * such reminders: a workflow can set another `expiryMinutes` than the one that `checkReminders` saw.
 */
export function reminderTimes({ expiryMinutes, reminders = [] }: Reminding): number[] {
  const times = reminders.map(({ minutes, from }) => (from === 'asked' ? minutes : expiryMinutes - minutes));
  const whileAsked = times.map(rounded).filter((at) => at > 0 && (expiryMinutes === 0 || at < expiryMinutes));
  return [...new Set(whileAsked)].sort((a, b) => a - b);
}

/** Rounds to less than a millisecond: a difference of fractions may have sixteen digits, and clients see it. */
function rounded(minutes: number): number {
  return Number(minutes.toFixed(6));
}

/** Refuses reminders that would come after the question has expired, or before it is asked. */
export function checkReminders({ expiryMinutes, reminders = [] }: Reminding, check: z.RefinementCtx): void {
  for (const [at, { minutes, from }] of reminders.entries()) {
    const path = ['reminders', at, 'minutes'];
    if (from === 'expiry' && expiryMinutes === 0)
      check.addIssue({ code: 'custom', path, message: 'the question never expires: count from "asked"' });
    else if (expiryMinutes > 0 && minutes >= expiryMinutes)
      check.addIssue({
        code: 'custom',
        path,
        message: `must be less than the ${expiryMinutes} minutes of the question`,
      });
  }
}
