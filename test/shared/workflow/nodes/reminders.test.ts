import { expect, test } from 'vitest';
import { reminderTimes } from '#shared/workflow/nodes/reminders.ts';

test('a time before the expiry has no more digits than what it is computed from', () => {
  const reminders = [
    { minutes: 0.35, from: 'expiry' as const },
    { minutes: 0.15, from: 'asked' as const },
  ];

  expect(reminderTimes({ expiryMinutes: 0.5, reminders })).toEqual([0.15]);
});
