import { createMemoryBudget } from '#shared/concurrency/memory-budget.ts';
import { withReservation } from '#shared/concurrency/work-context.ts';

/** The bytes that work holds when it has its result. */
export async function heldBy(work: () => Promise<unknown>): Promise<number> {
  const account = createMemoryBudget({ maxBytes: 200_000_000 });
  const flow = { tenantID: 'tenant' };
  using held = account.openReservation(flow);
  await withReservation(flow, held, work);
  return account.used;
}
