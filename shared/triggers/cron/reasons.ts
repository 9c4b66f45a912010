/** Why a tick was not started in its time, or how it was started. */
export const reasons = {
  paused: 'The job was paused',
  late: 'No worker could start it in time',
  old: 'No worker could start it in time, and the window for missed runs is over',
  replaced: 'No worker could start it in time, and a later tick stands for it',
  busy: 'The work of an earlier tick had not ended',
  full: 'The work of an earlier tick had not ended, and another tick waited already',
  overtaken: 'A later tick took its place',
  afterwards: 'Started after its time, because no worker could start it in time',
  waits: 'It waited for the work of an earlier tick',
  backfill: 'Started by a backfill',
  waitsAfterwards: 'Missed in its time, it waited for the work of an earlier tick',
} as const;
