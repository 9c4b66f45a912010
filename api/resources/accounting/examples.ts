const counts = { accepted: 130, completed: 120, failed: 4, cancelled: 2, inFlight: 4, difference: 0 };

const eventCounts = {
  received: 40,
  done: 35,
  filtered: 2,
  duplicate: 1,
  dead: 1,
  replaced: 0,
  pending: 1,
  difference: 0,
};

export const exampleAccounting = {
  from: '2026-11-22T09:00:00.000Z',
  to: '2026-11-22T11:00:00.000Z',
  completeSince: '2026-10-23T10:24:00.000Z',
  total: counts,
  hours: [
    {
      hour: '2026-11-22T09:00:00.000Z',
      origin: 'cron' as const,
      ...counts,
      accepted: 6,
      completed: 6,
      failed: 0,
      cancelled: 0,
      inFlight: 0,
    },
    { hour: '2026-11-22T10:00:00.000Z', origin: 'direct' as const, ...counts, accepted: 124, completed: 114 },
  ],
  events: {
    completeSince: '2026-11-15T10:24:00.000Z',
    total: eventCounts,
    hours: [{ hour: '2026-11-22T10:00:00.000Z', ...eventCounts }],
  },
};
