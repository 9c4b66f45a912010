import type { Metrics } from '../../core/metrics.ts';
import type { Runs } from '../runs.ts';

/** Adds metrics of the runs that this process has dispatched. Every process that accepts or wakes runs also dispatches. */
export function addDispatchMetrics({ add }: Pick<Metrics, 'add'>, runs: Runs): void {
  add(
    { name: 'gantry_hand_overs_total', help: 'Runs handed to the queue', kind: 'counter', labels: ['kind', 'outcome'] },
    () => runs.jobCounts.samples,
  );
  add(
    {
      name: 'gantry_admissions_total',
      help: 'Runs that admissions of this process decided about',
      kind: 'counter',
      labels: ['outcome'],
    },
    () => runs.dispatchCounts.samples,
  );
}
