import { z } from 'zod';

/** Columns of runs that a page may show. Inputs, results and messages of errors are none of it. */
export const RunColumn = z.enum([
  'instanceID',
  'status',
  'startedBy',
  'createdAt',
  'startedAt',
  'completedAt',
  'durationSeconds',
  'errorCode',
  'canOpen',
  'canStop',
  'canRerun',
]);
export type RunColumn = z.infer<typeof RunColumn>;

/** The columns of a saved data source. */
export function runColumnsOf(stored: unknown): readonly RunColumn[] {
  const parsed = z.array(RunColumn).min(1).safeParse(stored);
  return parsed.success ? parsed.data : RunColumn.options;
}
