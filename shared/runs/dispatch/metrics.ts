import type { Metrics } from '../../core/metrics.ts';
import type { Runs } from '../runs.ts';

/** Adds the hand-overs of a process; every process that accepts or wakes runs has some. */
export function addHandOverMetrics({ add }: Pick<Metrics, 'add'>, runs: Runs): void {
  add(
    { name: 'gantry_hand_overs_total', help: 'Runs handed to the queue', kind: 'counter', labels: ['kind', 'outcome'] },
    () => runs.handOvers.samples,
  );
  add(
    {
      name: 'gantry_admissions_total',
      help: 'Runs that admissions of this process decided about',
      kind: 'counter',
      labels: ['outcome'],
    },
    () => runs.admissions.samples,
  );
}
