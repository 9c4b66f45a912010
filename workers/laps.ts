const FIRST_ID = '00000000-0000-0000-0000-000000000000';

interface Laps<T extends { tenantID: string }> {
  /** The next tenant behind this one that has something to do, in the order of their ids. */
  next(after: string): Promise<T | undefined>;
  /** Does a part of it. Answers whether there was anything to do. */
  work(turn: T): Promise<boolean>;
}

/**
 * Gives one tenant after the other its turn, one at each call. Answers whether there may be more to do at once, which is not so after a
 * lap that has found nothing. A tenant whose work fails has had its turn.
 */
export function inLaps<T extends { tenantID: string }>({ next, work }: Laps<T>): () => Promise<boolean> {
  let after = FIRST_ID;
  let isIdle = true;

  return async () => {
    const turn = await next(after);
    if (!turn) {
      const goesOn = !isIdle;
      after = FIRST_ID;
      isIdle = true;
      return goesOn;
    }
    after = turn.tenantID;
    if (await work(turn)) isIdle = false;
    return true;
  };
}
