import type { EventSubscriber, TransactionEventArgs } from '@mikro-orm/core';
import type { EntityManager } from '@mikro-orm/postgresql';

/** Names the user of a request in each transaction of its entity manager, for triggers that note who has changed something. */
export const actorSubscriber: EventSubscriber = {
  async afterTransactionStart({ em, transaction }: TransactionEventArgs): Promise<void> {
    // Safe: this service has one driver.
    const own = em as EntityManager;
    const { actorID } = own.getFilterParams<{ actorID?: string }>('tenant') ?? {};
    if (!actorID) return;
    await own
      .getConnection()
      .execute(`select set_config('gantry.actor', ?, true)`, [actorID], 'run', transaction)
      // An error here would leak the connection; the next statement of the transaction fails as well.
      .catch(() => undefined);
  },
};
