import { createByteAccount } from '#shared/concurrency/memory-budget.ts';
import { withBytes } from '#shared/concurrency/work-context.ts';

/** The bytes that work holds when it has its result. */
export async function heldBy(work: () => Promise<unknown>): Promise<number> {
  const account = createByteAccount({ maxBytes: 200_000_000 });
  const turn = { tenantID: 'tenant' };
  using held = account.open(turn);
  await withBytes(turn, held, work);
  return account.used;
}
