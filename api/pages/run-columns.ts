import { z } from 'zod';

/** What a page may show of a run. Inputs, results and messages of errors are none of it. */
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
