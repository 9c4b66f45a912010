import type { PageClient, Refused, Wanted } from '../page/state/client.ts';
import { isObject } from '../ui/is-object.ts';

interface Known {
  /** The queries that are run for what is wanted. */
  queriesOf: (wanted: Wanted) => readonly string[];
  /** Whether a query changes nothing. */
  isReadOnly: (queryID: string) => Promise<boolean>;
}

const NOT_RUN: Refused = {
  code: 'NOT_RUN',
  message: 'It may change something, and so it is not run while the page is edited. “Preview” and “Run it now” run it.',
};

/** A client of a page that is edited: queries that may change something are not run, since its author has not asked for that. */
export function readingOnly(client: PageClient, { queriesOf, isReadOnly }: Known): PageClient {
  const refusalFor = async (wanted: Wanted): Promise<Refused | undefined> => {
    const all = await Promise.all(queriesOf(wanted).map(isReadOnly));
    return all.every(Boolean) ? undefined : NOT_RUN;
  };
  return {
    ...client,
    async read(wanted, onAnswer, signal) {
      const refusals = await Promise.all(wanted.map((one) => refusalFor(one).catch(refusalOf)));
      if (signal.aborted) return;
      const left = wanted.flatMap((one, at) => (refusals[at] ? [] : [{ one, at }]));
      for (const [at, error] of refusals.entries()) if (error) onAnswer({ at, error });
      if (left.length === 0) return;
      await client.read(
        left.map(({ one }) => one),
        (answer) => onAnswer({ ...answer, at: left[answer.at]?.at ?? answer.at }),
        signal,
      );
    },
  };
}

export function refusalOf(error: unknown): Refused {
  const code = isObject(error) && typeof error.code === 'string' ? error.code : 'UNAVAILABLE';
  return { code, message: error instanceof Error ? error.message : String(error) };
}
