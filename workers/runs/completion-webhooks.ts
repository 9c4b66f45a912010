import type { FlowKey } from '#shared/concurrency/fair-queue.ts';
import type { MemoryBudget } from '#shared/concurrency/memory-budget.ts';
import { startPeriodicTask } from '#shared/concurrency/periodic-task.ts';
import { createSemaphore } from '#shared/concurrency/semaphore.ts';
import { withReservation } from '#shared/concurrency/work-context.ts';
import { CountMap } from '#shared/core/count-map.ts';
import { Counter } from '#shared/core/counter.ts';
import { FIRST_ID } from '#shared/core/ids.ts';
import type { Logger } from '#shared/core/logger.ts';
import { keysetPages } from '#shared/db/keyset-pages.ts';
import type { Pool } from '#shared/db/pool.ts';
import type { TenantVariables } from '../nodes/variables.ts';
import type { Outbound } from '../outbound/gate.ts';
import { type Attempt, type Claimed, createSender, type Sender } from './completion-sender.ts';

/** Workflows that one statement reads. */
const SLICE = 64;
/** Deliveries under way in a worker. A receiver that does not answer has a permit until its time is up. */
const CONCURRENCY = { permits: 32, maxPerTenant: 4, dynamicLimit: 1 };
/** Deliveries of one workflow, so that its receiver does not take all permits of its tenant. */
const MAX_PER_WORKFLOW = 2;
/** Lease of a claimed delivery: longer than an attempt may take. If its worker dies, another sends the delivery after this time. */
const CLAIM_SECONDS = 60;
/** Attempts of a delivery that its history shows. */
const MAX_HISTORY = 30;

/** Attempts after the first come after 5 s, 20 s, 80 s … up to 8 hours: the last one about a day after the end of the run. */
const MAX_TRIES = 10;
const FIRST_PAUSE_SECONDS = 5;
const MAX_PAUSE_SECONDS = 8 * 3_600;

interface Needs {
  pool: Pool;
  outbound: Outbound;
  variables: Pick<TenantVariables, 'read'>;
  bytes: Pick<MemoryBudget, 'openReservation'>;
  logger: Logger;
}

export interface CompletionWebhooks extends AsyncDisposable {
  /** Attempts, by what followed. */
  readonly stats: Counter<'outcome'>;
}

/** Tells receivers of the ends of runs. Every worker does so; they share the work by rows that they claim. */
export function createCompletionWebhooks({ outbound, variables, ...needs }: Needs): CompletionWebhooks {
  const sender = createSender({ outbound, variables });
  const deliveries = createDeliveries({ ...needs, sender, onEnd: () => task.trigger() });
  const step = { name: 'tell the ends of runs', everyMs: 1_000, run: deliveries.begin };
  const task = startPeriodicTask(step, needs.logger);
  return {
    stats: deliveries.stats,
    async [Symbol.asyncDispose]() {
      await task[Symbol.asyncDispose]();
      await deliveries[Symbol.asyncDispose]();
      await sender[Symbol.asyncDispose]();
    },
  };
}

interface Deliveries extends AsyncDisposable {
  /** Begins the deliveries that are due and have a permit, those of all workflows in turn. */
  begin(): Promise<void>;
  readonly stats: Counter<'outcome'>;
}

interface Delivering extends Pick<Needs, 'pool' | 'bytes' | 'logger'> {
  sender: Pick<Sender, 'send'>;
  /** Is called when a permit has become free. */
  onEnd(): void;
}

/** A workflow with open deliveries. */
interface Line {
  tenant_id: string;
  workflow_id: string;
  creator_id: string;
  is_due: boolean;
}

type Position = Pick<Line, 'tenant_id' | 'workflow_id'>;
const FIRST: Position = { tenant_id: FIRST_ID, workflow_id: FIRST_ID };

export function createDeliveries({ pool, bytes, logger, sender, onEnd }: Delivering): Deliveries {
  const permits = createSemaphore(CONCURRENCY);
  const stats = new Counter<'outcome'>();
  const closing = new AbortController();
  const underWay = new Set<Promise<void>>();
  const ofWorkflow = new CountMap();
  let after = FIRST;

  /** Begins deliveries in the order of the workflows' ids. When all permits are used, the next call continues after the last workflow. */
  async function begin(): Promise<void> {
    const { rowCount } = await pool.query({ name: 'due_deliveries', text: ANY_DUE });
    if (!rowCount) return;
    const began = after;
    if ((await visit(began)) && began !== FIRST) await visit(FIRST, began);
  }

  /** Visits the workflows after a position. False when there is no permit for more. */
  async function visit(from: Position, until?: Position): Promise<boolean> {
    for await (const line of linesBehind(from)) {
      if (until && isBehind(line, until)) return true;
      after = line;
      if (line.is_due) await claimAndStart(line);
      if (closing.signal.aborted || permits.used === CONCURRENCY.permits) return false;
    }
    after = FIRST;
    return true;
  }

  async function* linesBehind(from: Position): AsyncGenerator<Line> {
    for await (const slice of keysetPages({ from, size: SLICE, read: readLines, keyOf: (row) => row })) yield* slice;
  }

  async function readLines({ tenant_id, workflow_id }: Position): Promise<Line[]> {
    const values = [tenant_id, workflow_id];
    return (await pool.query<Line>({ name: 'delivery_lines', text: LINES, values })).rows;
  }

  /** Claims as many deliveries of a workflow as there are permits for it. */
  async function claimAndStart({
    tenant_id: tenantID,
    workflow_id: workflowID,
    creator_id: creatorID,
  }: Line): Promise<void> {
    const flow: FlowKey = { tenantID, creatorID };
    let acquired = 0;
    while (ofWorkflow.of(workflowID) + acquired < MAX_PER_WORKFLOW && permits.tryAcquire(flow)) acquired += 1;
    if (acquired === 0) return;
    let claimed: Claimed[] = [];
    try {
      const values = [tenantID, workflowID, acquired];
      claimed = (await pool.query<Claimed>({ name: 'claim_deliveries', text: CLAIM, values })).rows;
    } finally {
      for (let unused = acquired - claimed.length; unused > 0; unused -= 1) permits.release(flow);
    }
    for (const delivery of claimed) start(delivery, flow);
  }

  function start(delivery: Claimed, flow: FlowKey): void {
    const { workflow_id: workflowID } = delivery;
    ofWorkflow.add(workflowID, 1);
    const work = deliver(delivery, flow)
      // The delivery is sent again when the claim has expired.
      .catch((error: unknown) => logger.warn({ err: error, deliveryID: delivery.id }, 'an attempt is not recorded'))
      .finally(() => {
        ofWorkflow.add(workflowID, -1);
        underWay.delete(work);
        permits.release(flow);
        if (!closing.signal.aborted) onEnd();
      });
    underWay.add(work);
  }

  async function deliver(delivery: Claimed, flow: FlowKey): Promise<void> {
    using reservation = bytes.openReservation(flow);
    // The context has no permit that a wait for a connection could release: such a wait is part of the attempt.
    const attempt = await withReservation(flow, reservation, () => sender.send(delivery, closing.signal));
    const { status, pauseSeconds } = closing.signal.aborted ? AT_ONCE : outcomeOf(delivery, attempt);
    stats.add({ outcome: status === 'PENDING' ? 'to be repeated' : status === 'DELIVERED' ? 'delivered' : 'given up' });
    const { retryAfterSeconds: _, ...shown } = attempt;
    await pool.query({
      name: 'record_delivery',
      text: RECORD,
      values: [delivery.id, delivery.tries, JSON.stringify([shown]), status, pauseSeconds],
    });
  }

  return {
    begin,
    stats,
    async [Symbol.asyncDispose]() {
      closing.abort();
      await Promise.all(underWay);
    },
  };
}

function isBehind(one: Position, other: Position): boolean {
  if (one.tenant_id !== other.tenant_id) return one.tenant_id > other.tenant_id;
  return one.workflow_id > other.workflow_id;
}

interface Outcome {
  status: 'PENDING' | 'DELIVERED' | 'FAILED';
  pauseSeconds: number;
}

/** The worker stops: another one sends it again. */
const AT_ONCE: Outcome = { status: 'PENDING', pauseSeconds: 0 };

/** The state after an attempt. By a status of 410, a receiver refuses all further attempts. */
export function outcomeOf(
  { tries_since_asked: tries }: Pick<Claimed, 'tries_since_asked'>,
  { status, retryAfterSeconds = 0 }: Pick<Attempt, 'status' | 'retryAfterSeconds'>,
): Outcome {
  if (status !== null && status >= 200 && status < 300) return { status: 'DELIVERED', pauseSeconds: 0 };
  if (status === 410 || tries >= MAX_TRIES) return { status: 'FAILED', pauseSeconds: 0 };
  const pause = Math.min(FIRST_PAUSE_SECONDS * 4 ** (tries - 1), MAX_PAUSE_SECONDS) * (0.75 + Math.random() / 2);
  return { status: 'PENDING', pauseSeconds: Math.max(pause, Math.min(retryAfterSeconds, MAX_PAUSE_SECONDS)) };
}

const ANY_DUE = 'select from run_delivery where next_at <= now() limit 1';

// Each step finds the next workflow by the index; the rows of one workflow are not read.
const LINES = `
with recursive line as (
  (select tenant_id, workflow_id from run_delivery
   where next_at is not null and (tenant_id, workflow_id) > ($1::uuid, $2::uuid) order by tenant_id, workflow_id limit 1)
  union all
  select next.tenant_id, next.workflow_id from line, lateral (
    select d.tenant_id, d.workflow_id from run_delivery d
    where d.next_at is not null and (d.tenant_id, d.workflow_id) > (line.tenant_id, line.workflow_id)
    order by d.tenant_id, d.workflow_id limit 1) next
)
select line.tenant_id, line.workflow_id,
  coalesce((select creator_id from tenant t where t.id = line.tenant_id), line.tenant_id) as creator_id,
  coalesce((
    select true from run_delivery d where d.tenant_id = line.tenant_id and d.workflow_id = line.workflow_id and d.next_at <= now() limit 1
  ), false) as is_due
from (select * from line limit ${SLICE}) line`;

// The attempt is written to the history before it is made, so that the history shows also one whose worker has died.
const CLAIM = `
update run_delivery d
set tries = d.tries + 1, tries_since_asked = d.tries_since_asked + 1, next_at = now() + make_interval(secs => ${CLAIM_SECONDS}),
  attempts = case when jsonb_array_length(d.attempts) >= ${MAX_HISTORY} then d.attempts - 0 else d.attempts end
    || jsonb_build_array(jsonb_build_object('number', d.tries + 1, 'at', now()))
from workflow_instance i
where i.id = d.instance_id and d.id = any(array(
  select id from run_delivery where tenant_id = $1 and workflow_id = $2 and next_at <= now()
  order by tenant_id, workflow_id, next_at limit $3 for update skip locked))
returning d.id, d.instance_id, d.tenant_id, d.workflow_id, d.url, d.secret, d.tries, d.tries_since_asked,
  i.version_id, i.status, i.caller ->> 'origin' as origin, i.error, i.created_at, i.started_at, i.completed_at,
  case when octet_length(i.output::text) <= 65536 and i.completion_webhook ->> 'includeOutput' = 'true' then i.output end as output,
  coalesce(octet_length(i.output::text) > 65536, false) and i.completion_webhook ->> 'includeOutput' = 'true' as is_omitted`;

// If the claim had expired and a later attempt has begun, this one changes nothing.
const RECORD = `
update run_delivery
set attempts = (attempts - -1) || jsonb_build_array((attempts -> -1) || ($3::jsonb -> 0)), status = $4::varchar,
  next_at = case when $4::varchar = 'PENDING' then now() + make_interval(secs => $5::float8) end,
  settled_at = case when $4::varchar <> 'PENDING' then now() end
where id = $1 and tries = $2`;
