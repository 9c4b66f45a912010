import type { PickedType } from '../../../client/references.ts';
import type { SourceType } from '../config.ts';

export const pickedTypeOf = {
  query: 'dataQuery',
  workflow: 'workflow',
  listener: 'listener',
} as const satisfies Record<SourceType, PickedType>;

export const wordOfType: Record<SourceType, string> = { query: 'query', workflow: 'workflow', listener: 'listener' };
