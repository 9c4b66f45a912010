import type { RunOrigin } from '../client/run-filter.ts';
import type { RunSummary } from '../client/types.ts';

export const originWords: Record<RunOrigin, string> = {
  direct: 'Started by hand or API',
  workflow: 'Another workflow',
  cron: 'Cron job',
  listener: 'Listener',
  appPage: 'App page',
  test: 'Test',
};

/** Names the starter of a run in words. */
export function originOf({ isTest, origin }: Pick<RunSummary, 'isTest' | 'origin'>): string {
  const words: Partial<Record<string, string>> = originWords;
  return words[isTest ? 'test' : origin] ?? origin;
}

/** The name of the person or key that has started a run, among the names of authors. */
export function nameOfStarter(
  { type, id, userID }: NonNullable<RunSummary['startedBy']>,
  authorOf: (userID: string | null, apiKeyID: string | null) => string,
): string {
  return type === 'apiKey' ? authorOf(userID ?? null, id) : authorOf(id, null);
}
