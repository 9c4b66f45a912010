import type { PickedType } from '../../../client/references.ts';
import type { SourceType } from '../config.ts';

export const pickedTypeOf = {
  query: 'dataQuery',
  workflow: 'workflow',
  listener: 'listener',
  runs: 'workflow',
} as const satisfies Record<SourceType, PickedType>;

export const wordOfType: Record<SourceType, string> = {
  query: 'query',
  workflow: 'workflow',
  listener: 'listener',
  runs: 'list of runs',
};

/** The word for the asset that is chosen for it. */
export const pickedWordOf: Record<SourceType, string> = {
  query: 'Query',
  workflow: 'Workflow',
  listener: 'Listener',
  runs: 'Workflow',
};
