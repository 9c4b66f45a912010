import type { Run, TimelineEvent } from '../client/types.ts';

export type AnyError = NonNullable<Run['error']> | NonNullable<TimelineEvent['error']>;

/** The messages of an error about fields, by their dotted paths. */
export function faultsOfError({ details }: Pick<AnyError, 'details'>): ReadonlyMap<string, string> {
  const issues: unknown[] = Array.isArray(details?.issues) ? details.issues : [];
  const faults = issues.flatMap((issue): [string, string][] => {
    const { path, message } = (issue ?? {}) as { path?: unknown; message?: unknown };
    return Array.isArray(path) && path.length > 0 ? [[path.join('.'), String(message)]] : [];
  });
  return new Map(faults);
}
