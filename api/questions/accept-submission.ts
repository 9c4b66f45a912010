import { type FilterQuery, raw } from '@mikro-orm/postgresql';
import { AppError } from '#shared/core/errors.ts';
import type { JsonObject } from '#shared/core/json.ts';
import type { EntityManager } from '#shared/entities/orm.ts';
import { CollectionRequest } from '#shared/entities/tables/collection-request.ts';
import type { Runs } from '#shared/runs/runs.ts';
import { isTerminal, type RunStatus } from '#shared/workflow/progress/status.ts';
import { checkSubmission } from './check-submission.ts';

interface Asked {
  request: CollectionRequest;
  run: { status: RunStatus };
}

/** Throws CONFLICT for a request that is answered, expired or cancelled. */
export function requireOpen({ request, run }: Asked): void {
  if (request.status !== 'PENDING' || isTerminal(run.status)) throw closed(request.status);
}

interface Given {
  submittedData: JsonObject;
  /** Null for an answer by link. */
  submittedBy: string | null;
  /** A further condition of the row when the submission is stored. */
  onlyIf?: FilterQuery<CollectionRequest>;
}

/** Checks the answer to an open request, stores it, and wakes the run. Of concurrent answers, one is stored. */
export async function takeAnswer(
  { em, runs }: { em: EntityManager; runs: Runs },
  request: CollectionRequest,
  { submittedData: submitted, submittedBy, onlyIf = {} }: Given,
): Promise<void> {
  const submittedData = checkSubmission(request.collectionConfig, submitted);
  // The database's clock decides; the state of the row decides between two submissions.
  const inTime = { $or: [{ expiresAt: null }, { expiresAt: { $gt: raw<Date>('now()') } }] };
  const won = await em.nativeUpdate(
    CollectionRequest,
    { $and: [{ id: request.id, status: 'PENDING', ...inTime }, onlyIf] },
    { status: 'COMPLETED', submittedData, submittedBy, updatedAt: new Date() },
  );
  if (won === 0) throw closed('EXPIRED');

  // Committed above: if this wake is lost, the sweep finds the submission.
  await runs.wake([request.instanceID]);
}

function closed(status: string): AppError {
  const why = status === 'COMPLETED' ? 'has been answered already' : 'is no longer open';
  return new AppError('CONFLICT', `This request ${why}`);
}
