import { createMemoryBudget } from '#shared/concurrency/memory-budget.ts';
import { withReservation } from '#shared/concurrency/work-context.ts';

/** Bytes that work has reserved when it has its result. */
export async function reservedBy(work: () => Promise<unknown>): Promise<number> {
  const budget = createMemoryBudget({ maxBytes: 200_000_000 });
  const flow = { tenantID: 'tenant' };
  using reservation = budget.openReservation(flow);
  await withReservation(flow, reservation, work);
  return budget.used;
}
