import type { z } from 'zod';
import type { Rights } from '#shared/access/policy/rights.ts';
import { createBatcher, createFairBatcher } from '#shared/concurrency/batcher.ts';
import type { FlowKey } from '#shared/concurrency/fair-queue.ts';
import type { MemoryBudget, Reservation } from '#shared/concurrency/memory-budget.ts';
import { createSemaphore } from '#shared/concurrency/semaphore.ts';
import { AppError } from '#shared/core/errors.ts';
import type { Logger } from '#shared/core/logger.ts';
import { createThrottledWarning } from '#shared/core/throttled-warning.ts';
import type { StoredFiles } from '#shared/datasources/files/files.ts';
import { createResponseEviction } from '#shared/db/idempotency.ts';
import { isRefusedStatement, type Pool } from '#shared/db/pool.ts';
import { storableJSON } from '#shared/db/storable.ts';
import type { listenerEvents } from '#shared/messaging/queues/listener-events.ts';
import type { Publisher } from '#shared/messaging/realtime/publish.ts';
import type { NotifyCompletion } from '#shared/runs/completion-notices.ts';
import type { Runs } from '#shared/runs/runs.ts';
import type { Events } from '#shared/runs/send-event.ts';
import { createCountedQuota } from '#shared/tenants/counted-quotas.ts';
import type { FlowKeys } from '#shared/tenants/creators.ts';
import { LARGE_BODY } from '#shared/triggers/listeners/deferred-events.ts';
import { NOTE_ACTION, READ_BODIES, READ_EVENTS, SMALL_BODY } from '#shared/triggers/listeners/event-rows.ts';
import {
  callerOfListener,
  type ListenerReader,
  type ReadListener,
} from '#shared/triggers/listeners/listener-reader.ts';
import { readEvent } from '#shared/triggers/listeners/read-event.ts';
import type { ReleaseNext } from '#shared/triggers/listeners/release-next.ts';
import { runIDOf } from '#shared/triggers/listeners/run-id.ts';
import type { Queries } from '../../datasources/queries/queries.ts';
import type { Sandbox } from '../../sandbox/pool.ts';
import { createRequireActiveCreator, isCreatorRefused } from './actions/creator-rights.ts';
import { createFilter } from './actions/filter-event.ts';
import { pushToPage } from './actions/push-to-page.ts';
import { type ActionRecord, errorOfAction, isSlow, type Runners, runActions } from './actions/run-actions.ts';
import { createRunQuery } from './actions/run-query.ts';
import { createSaveToBuffer } from './actions/save-to-buffer.ts';
import { createSendEvent } from './actions/send-event.ts';
import { createStartWorkflow } from './actions/start-workflow.ts';
import { createTransform } from './actions/transform-event.ts';
import type { BufferTrim } from './actions/trim-buffers.ts';
import { type Attempted, deferralOf, endOf, failureOf, type OpenEvent, stopOf } from './attempt-ends.ts';
import { type AttemptEnd, endAttempts } from './end-attempts.ts';
import { createStoreFiles } from './store-files.ts';
import { readable, testsOf } from './test-events.ts';

type Payload = z.output<typeof listenerEvents.payload>;
type Outcome = z.input<typeof listenerEvents.result>['outcome'];

/** Processes events of listeners. Safe to call twice for an event, also at once in two processes. */
export interface EventProcessing {
  process(job: Payload, signal: AbortSignal): Promise<Outcome>;
}

interface Needs {
  pool: Pool;
  runs: Pick<Runs, 'acceptWithin'>;
  rights: Rights;
  sandbox: Sandbox;
  queries: Queries;
  events: Pick<Events, 'send'>;
  publisher: Pick<Publisher, 'listenerEvents' | 'listenerTests'>;
  buffers: BufferTrim;
  reader: ListenerReader;
  bytes: MemoryBudget;
  flowKeys: FlowKeys;
  notifyCompletion: NotifyCompletion;
  /** Is called when an event is finished, so that its tenant may have headroom for others. */
  onFinished(): void;
  releaseNext: ReleaseNext;
  stored: StoredFiles;
  logger: Logger;
}

/** Events at once whose actions wait for code, queries or runs. A creator whose servers are slow must leave permits for others. */
const SLOW = { permits: 160, maxPerTenant: 40, dynamicLimit: 1 };
/** Pause before an event is tried again that has found no permit of `SLOW`. */
const PUT_BACK_SECONDS = 0.5;
/**
 * Concurrent statements for events with large bodies, one for each event. Permits are given to tenants in turn; without them, the tenant
 * that comes first would get all connections of the pool.
 */
const LARGE = { permits: 2 };
/** Bytes of bodies that share a statement. */
const MAX_BYTES = 256 * 1024;

/** An event with the flow of its tenant. */
interface Found extends OpenEvent {
  flow: FlowKey;
}

export function createEventProcessing(needs: Needs): EventProcessing {
  const { pool, runs, reader, bytes, flowKeys, notifyCompletion, onFinished, releaseNext, publisher, buffers, logger } =
    needs;
  const runners = createRunners(needs);
  const requireActiveCreator = createRequireActiveCreator(pool);
  const storeFiles = createStoreFiles(pool, needs.stored);
  const slow = createSemaphore(SLOW);
  const large = createSemaphore(LARGE);
  const load = createBatcher((ids: string[]) => readEvents(pool, ids));
  const readBodies = createFairBatcher((ids: string[]) => readBodiesOf(pool, ids), { maxBytes: MAX_BYTES });
  const endInBatch = createFairBatcher(
    async (ends: AttemptEnd[]) => {
      const written = await endAttempts(runs, ends);
      return ends.map(({ eventID }) => written.has(eventID));
    },
    { maxBytes: MAX_BYTES, isItemError: isRefusedStatement },
  );

  async function attempt(recorded: OpenEvent, listener: ReadListener, signal: AbortSignal): Promise<Attempted> {
    const { id: eventID, tenantID, listenerID, source, receivedAt, awaitedBy } = recorded;
    const caller = callerOfListener(listener);
    const event = await readEvent(recorded);
    const context = { eventID, tenantID, listenerID, source, receivedAt, event, caller, awaitedBy, signal };
    const note = async (actionID: string, record: ActionRecord) => {
      const values = [eventID, actionID, storableJSON(JSON.stringify(record))];
      await pool.query({ name: 'note_action', text: NOTE_ACTION, values });
    };
    await requireActiveCreator(listener);
    await storeFiles(recorded, listener);
    const performed = await runActions(listener, context, { runners, before: recorded.actions ?? {}, note });
    return { ...endOf(recorded, performed), tests: testsOf(recorded, event, performed.transformed) };
  }

  async function end({ flow, bodyBytes }: Found, ended: AttemptEnd): Promise<boolean> {
    // A batch writes its runs as one JSON text, which would take long for many large events.
    if (bodyBytes <= LARGE_BODY) return endInBatch(ended, { flow, bytes: bodyBytes });
    return (await large.run(flow, () => endAttempts(runs, [ended]))).has(ended.eventID);
  }

  async function readBody({ id, flow, bodyBytes }: Found, reservation: Reservation): Promise<Buffer | null> {
    if (bodyBytes <= LARGE_BODY) return readBodies(id, { flow, bytes: bodyBytes });
    // The event is in memory as bytes, as text and as JSON.
    await reservation.reserve(4 * bodyBytes);
    const [body = null] = await large.run(flow, () => readBodiesOf(pool, [id]));
    return body;
  }

  /** Makes an attempt and returns how it has ended. Throws an error that is not about the event: the job is then delivered again. */
  async function attemptOrFail(
    found: OpenEvent,
    listener: ReadListener | undefined,
    signal: AbortSignal,
  ): Promise<Attempted> {
    try {
      if (!listener) throw new AppError('NOT_FOUND', 'The listener was deleted');
      return await attempt(found, listener, signal);
    } catch (error) {
      // If this process stops, the job is delivered to another one, and the attempt is not counted.
      signal.throwIfAborted();
      if (isCreatorRefused(error)) return stopOf(found, error);
      const failed = errorOfAction(error);
      return {
        ...failureOf(found, failed),
        tests: testsOf(found, readable(found), { event: null, error: failed.message }),
      };
    }
  }

  /** Writes the end of an attempt. Undefined if another delivery of the job has finished the event. */
  async function write(found: Found, ended: Attempted): Promise<Attempted | undefined> {
    try {
      return (await end(found, ended)) ? ended : undefined;
    } catch (error) {
      if (!isRefusedStatement(error)) throw error;
      // Postgres refuses the content of the event and would refuse it again, so the event fails for good.
      logger.warn({ err: error, eventID: found.id }, 'an event cannot be processed');
      const refused = new AppError('VALIDATION_ERROR', 'The database refuses what the event leads to', {
        cause: error,
      });
      const failed = failureOf(found, refused);
      return (await end(found, failed)) ? failed : undefined;
    }
  }

  async function processOne(found: Found, listener: ReadListener | undefined, signal: AbortSignal) {
    const attempted = await attemptOrFail(found, listener, signal);
    signal.throwIfAborted();
    const ended = await write(found, attempted);
    if (!ended) return 'nothing to do';
    // Committed above. A message that is lost with the process is not sent again: pages would add it twice.
    publisher.listenerEvents(ended.pagePushes ?? []);
    publisher.listenerTests(ended.tests ?? []);
    buffers.note(ended.saved ?? []);
    if (ended.state !== 'pending') onFinished();
    const { listenerID, orderKey } = found;
    if (ended.state !== 'pending' && orderKey !== null) await releaseNext({ listenerID, orderKey });
    tellAwaiting(notifyCompletion, { found, listener, ended });
    return ended.state;
  }

  return {
    async process({ eventID }, signal) {
      const loaded = await load(eventID);
      if (!loaded) return 'nothing to do';
      const { tenantID } = loaded;
      const flow = await flowKeys.of({ tenantID });
      const found: Found = { ...loaded, flow };
      using reservation = bytes.openReservation(flow);
      if (found.bodyBytes > SMALL_BODY) found.body = await readBody(found, reservation);
      const listener = await reader.byID(found.listenerID, tenantID);
      const deferredBy = deferralOf(found, listener);
      if (deferredBy) {
        await endInBatch({ eventID, state: 'pending', runs: [], deferredBy: deferredBy }, { flow, bytes: 0 });
        return 'pending';
      }
      if (!listener || !isSlow(listener)) return processOne(found, listener, signal);
      if (!slow.tryAcquire(flow)) {
        const putBack = { eventID, state: 'pending', runs: [], waitSeconds: PUT_BACK_SECONDS } as const;
        await endInBatch(putBack, { flow, bytes: 0 });
        return 'pending';
      }
      try {
        return await processOne(found, listener, signal);
      } finally {
        slow.release(flow);
      }
    },
  };
}

function createRunners({ pool, rights, sandbox, queries, events, logger }: Needs): Runners {
  return {
    transform: createTransform(sandbox),
    filter: createFilter(sandbox),
    trigger_workflow: createStartWorkflow({ pool, rights }),
    trigger_query: createRunQuery({ queries, rights }),
    save_to_buffer: createSaveToBuffer(createCountedQuota(pool, 'listenerBufferBytes')),
    push_to_app_page: pushToPage,
    send_event: createSendEvent({ events, answers: createResponseEviction(pool, createThrottledWarning(logger)) }),
  };
}

interface Ended {
  found: OpenEvent;
  listener: ReadListener | undefined;
  ended: AttemptEnd;
}

/** Notifies the client that waits for the run of an event, if no run will be started. */
function tellAwaiting(notifyCompletion: NotifyCompletion, { found, listener, ended }: Ended): void {
  const { id, awaitedBy } = found;
  const startAction = listener?.actions.find(({ actionType }) => actionType === 'trigger_workflow');
  if (awaitedBy === null || ended.state === 'pending' || !startAction) return;
  const instanceID = runIDOf(id, startAction.id);
  // This attempt, or an earlier one, has started the run.
  if (ended.runs.some((run) => run.id === instanceID) || startedBefore(found, startAction.id)) return;
  const code = ended.state === 'filtered' ? 'EVENT_FILTERED' : 'EVENT_FAILED';
  const error = { code, message: 'The event has started no workflow', nodeID: null, attempt: null };
  notifyCompletion(awaitedBy, { instanceID, outcome: { status: 'FAILED', output: null, error } });
}

function startedBefore({ actions }: OpenEvent, actionID: string): boolean {
  return actions?.[actionID]?.state === 'done';
}

async function readEvents(pool: Pool, ids: readonly string[]): Promise<(OpenEvent | undefined)[]> {
  const { rows } = await pool.query<OpenEvent>({ name: 'open_events', text: READ_EVENTS, values: [ids] });
  const byID = new Map(rows.map((row) => [row.id, row]));
  return ids.map((id) => byID.get(id));
}

async function readBodiesOf(pool: Pool, ids: readonly string[]): Promise<(Buffer | null)[]> {
  const { rows } = await pool.query<{ id: string; body: Buffer | null }>({
    name: 'event_bodies',
    text: READ_BODIES,
    values: [ids],
  });
  const byID = new Map(rows.map(({ id, body }) => [id, body]));
  return ids.map((id) => byID.get(id) ?? null);
}
