import { type PeriodicTask, startPeriodicTask } from '#shared/concurrency/periodic-task.ts';
import type { Logger } from '#shared/core/logger.ts';
import type { Pool } from '#shared/db/pool.ts';
import type { Backplane } from '#shared/messaging/backplane/index.ts';
import { listenerEvents } from '#shared/messaging/queues/listener-events.ts';
import { COUNT_DEAD, NEWEST_DEAD } from '#shared/triggers/listeners/dead-letters.ts';

const DEAD_LETTERS = listenerEvents.deadLetters ?? '';
/** Number of dead letters, the newest, that the queues board shows. All are in the database. */
const MAX_SHOWN = 200;

interface Needs {
  pool: Pool;
  backplane: Pick<Backplane, 'queue' | 'add'>;
}

interface DeadRow {
  eventID: string;
  tenantID: string;
  listenerID: string;
  attempts: number;
  diedAt: Date;
  error: { code?: string; message?: string } | null;
  stack: string | null;
}

export interface DeadLetterBoard extends PeriodicTask {
  /** Dead letters of all tenants, up to 10,000; 0 in processes that do not show them. */
  readonly count: number;
}

/** Shows the newest dead letters on the board, from the process that leads. */
export function createDeadLetterBoard({
  leads,
  logger,
  ...needs
}: Needs & { leads(): boolean; logger: Logger }): DeadLetterBoard {
  let count = 0;
  const showing = startPeriodicTask(
    {
      name: 'show dead letters',
      everyMs: 5_000,
      async run() {
        count = leads() ? await showDeadLetters(needs) : 0;
      },
    },
    logger,
  );
  return {
    get count() {
      return count;
    },
    trigger: showing.trigger,
    [Symbol.asyncDispose]: () => showing[Symbol.asyncDispose](),
  };
}

/**
 * Makes the jobs of the dead letter queue those of the newest rows. So a queue that was lost is filled again, and an event that was
 * redriven, purged or deleted by age leaves. Answers with the number of dead letters.
 */
export async function showDeadLetters({ pool, backplane }: Needs): Promise<number> {
  const { rows } = await pool.query<DeadRow>({ name: 'newest_dead', text: NEWEST_DEAD, values: [MAX_SHOWN] });
  const wanted = new Map(rows.map((row) => [`${row.eventID}.${row.attempts}`, row]));
  const queue = backplane.queue(DEAD_LETTERS);
  const shown = await queue.getJobs(['waiting'], 0, 2 * MAX_SHOWN);
  for (const { id = '' } of shown) {
    if (wanted.delete(id)) continue;
    // Not `job.remove`, which throws if the worker that led before has just removed it.
    await queue.remove(id);
  }
  const missing = [...wanted].reverse();
  if (missing.length > 0)
    await backplane.add(
      DEAD_LETTERS,
      missing.map(([jobId, row]) => ({ name: listenerEvents.name, data: shownOf(row), opts: { jobId } })),
    );
  const counted = await pool.query<{ count: number }>({ name: 'count_dead', text: COUNT_DEAD });
  return counted.rows[0]?.count ?? 0;
}

/** The stack is for operators, who alone read the board. */
function shownOf({ eventID, tenantID, listenerID, attempts, diedAt, error, stack }: DeadRow) {
  const reason = `${error?.code ?? 'INTERNAL_ERROR'}: ${error?.message ?? ''}`;
  return {
    tenantID,
    listenerID,
    eventID,
    attempts,
    diedAt: diedAt.toISOString(),
    reason,
    stack: stack?.split('\n') ?? [],
  };
}
