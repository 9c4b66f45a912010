import { setTimeout as sleep } from 'node:timers/promises';
import { plainArray, textArray } from '#shared/db/array.ts';
import type { Pool } from '#shared/db/pool.ts';
import { isConnectionError } from '#shared/errors.ts';
import type { Logger } from '#shared/logger.ts';
import type { RunEventPayload, RunEventRow } from '#shared/realtime/events.ts';
import { emptyStep, type HeldRun, type Step } from './held-run.ts';

/** Result of a commit for one run. */
export interface Committed {
  run: HeldRun;
  step: Step;
  wakeSeq: number;
  watched: boolean;
  /** A wake came before the park, so the run is READY again. */
  ready: boolean;
}

export interface Committer {
  /** Writes the run's step with the next batch. */
  submit(run: HeldRun): void;
  /** Resolves when no step is waiting or in flight. */
  idle(): Promise<void>;
  /** Totals so far, for metrics: they show how many runs share a statement. */
  readonly stats: { statements: number; steps: number };
}

export interface CommitterOptions {
  pool: Pool;
  leaseID: () => string;
  logger: Logger;
  onCommitted(result: Committed): void;
  /** Another of these functions has thrown: the run cannot go on in this process. */
  onBroken(run: HeldRun, error: Error): void;
  onFenced(run: HeldRun): void;
  /** The database has refused the data of this run. */
  onRefused(run: HeldRun, step: Step, error: Error): void;
  publish(rows: readonly RunEventRow[]): void;
}

interface Entry {
  run: HeldRun;
  step: Step;
  fromSeq: number;
  toSeq: number;
  /** JSON text of the run's output; null if the run goes on. */
  output: string | null;
  /** Length of the texts that the statement carries for it. */
  size: number;
}

/** Two statements in flight keep the database busy while this process prepares the next; more make the batches small. */
const LANES = 2;
const MAX_BATCH = 500;
/** A larger step goes alone. A statement of many would be longer than a string may be, and hold up every run in it. */
const MAX_BATCH_SIZE = 8_000_000;
const LOCKED_MS = 20;
const AGAIN_MS = 250;

/**
 * Writes the steps of all runs held here, many runs per statement. A run is in at most one statement at a time, and its
 * `seq` is assigned when the batch is built, so a batch that is sent again changes nothing.
 */
export function createCommitter(options: CommitterOptions): Committer {
  const { pool, logger } = options;
  const stats = { statements: 0, steps: 0 };
  const dirty: HeldRun[] = [];
  const retries: Entry[] = [];
  let locked = 0;
  let lanes = 0;
  let scheduled = false;
  let idleWaiters: (() => void)[] = [];

  function submit(run: HeldRun): void {
    if (run.committing) return;
    run.committing = true;
    dirty.push(run);
    kick();
  }

  function kick(): void {
    if (scheduled || lanes >= LANES) return;
    scheduled = true;
    // One turn later: outcomes of the same turn share the statement.
    setImmediate(() => {
      scheduled = false;
      if (lanes < LANES) void lane();
    });
  }

  async function lane(): Promise<void> {
    lanes += 1;
    while (dirty.length > 0 || retries.length > 0) await write(nextBatch());
    lanes -= 1;
    if (!isIdle()) return;
    const waiters = idleWaiters;
    idleWaiters = [];
    for (const resolve of waiters) resolve();
  }

  function isIdle(): boolean {
    return lanes === 0 && dirty.length === 0 && retries.length === 0 && locked === 0 && !scheduled;
  }

  function nextBatch(): Entry[] {
    const batch: Entry[] = [];
    let size = 0;
    while (batch.length < MAX_BATCH) {
      const entry = nextEntry();
      if (!entry) break;
      if (batch.length > 0 && size + entry.size > MAX_BATCH_SIZE) {
        retries.unshift(entry);
        break;
      }
      size += entry.size;
      batch.push(entry);
    }
    return batch;
  }

  function nextEntry(): Entry | undefined {
    const retry = retries.shift();
    if (retry) return retry;
    let run = dirty.shift();
    while (run && run.left !== null) run = dirty.shift();
    return run && toEntry(run);
  }

  function toEntry(run: HeldRun): Entry {
    const step = run.step;
    run.step = emptyStep();
    run.leaving = step.end !== null || step.release !== 'hold';
    const output = step.end && step.end.output !== null ? JSON.stringify(step.end.output) : null;
    const size = (output?.length ?? 0) + sizeOf(step);
    return { run, step, fromSeq: run.seq, toSeq: run.seq + step.events.length, output, size };
  }

  async function write(batch: Entry[]): Promise<void> {
    if (batch.length === 0) return;
    let rows: CommitRow[] | undefined;
    while (!rows) {
      try {
        rows = await send(batch);
      } catch (error) {
        if (!mayPass(error)) return writeInHalves(batch, error as Error);
        // Either the answer was lost or the statement was never sent: sending the batch again tells which.
        logger.warn({ err: error, steps: batch.length }, 'commit is sent again');
        await sleep(AGAIN_MS);
      }
    }
    finish(batch, rows);
    // The rows decide, not `committing`: a run whose next step was ready at once has been submitted again by now.
    const written = new Set(rows.map(({ id }) => id));
    const left = batch.filter(({ run }) => !written.has(run.id));
    if (left.length > 0) await examine(left);
  }

  async function send(batch: Entry[]): Promise<CommitRow[]> {
    stats.statements += 1;
    stats.steps += batch.length;
    const plain = batch.every(({ step }) => isPlain(step));
    const result = await pool.query<CommitRow>({
      name: plain ? 'commit_steps' : 'commit_steps_and_waits',
      text: plain ? COMMIT : COMMIT_AND_WAITS,
      values: [...stepValues(batch, options.leaseID()), ...(plain ? [] : waitValues(batch))],
    });
    return result.rows;
  }

  function finish(batch: Entry[], rows: CommitRow[]): void {
    const byID = new Map(batch.map((entry) => [entry.run.id, entry]));
    const publish: RunEventRow[] = [];
    for (const row of rows) {
      const entry = byID.get(row.id);
      if (!entry) continue;
      settled(entry, { wakeSeq: row.wake_seq, watched: row.watched, ready: row.ready });
      if (row.watched) publish.push(...toRows(entry));
    }
    try {
      options.publish(publish);
    } catch (error) {
      logger.warn({ err: error }, 'changes not published; the gateways read them within a second');
    }
  }

  function settled({ run, step, toSeq }: Entry, result: Omit<Committed, 'run' | 'step'>): void {
    run.seq = toSeq;
    run.committing = false;
    guard(run, () => options.onCommitted({ run, step, ...result }));
  }

  /** An exception in the handling of one run must not end the commits of all. */
  function guard(run: HeldRun, handle: () => void): void {
    try {
      handle();
    } catch (error) {
      options.onBroken(run, error as Error);
    }
  }

  /** Finds out why a run was not updated: committed earlier, locked, or no longer held here. */
  async function examine(entries: Entry[]): Promise<void> {
    const rows = await readStates(entries.map(({ run }) => run.id));
    const again: Entry[] = [];
    for (const entry of entries) {
      const { run, fromSeq, toSeq } = entry;
      const row = rows.find(({ id }) => id === run.id);
      const mine = row?.epoch === run.epoch;
      if (mine && row.seq >= toSeq && toSeq > fromSeq)
        settled(entry, {
          wakeSeq: row.wake_seq,
          watched: true,
          ready: row.held_by === null && row.status === 'WAITING',
        });
      else if (mine && row.held_by === options.leaseID() && row.seq === fromSeq) again.push(entry);
      else {
        run.committing = false;
        options.onFenced(run);
      }
    }
    if (again.length > 0) retryLater(again);
  }

  /** Reads until it is answered: without the answer neither the commit nor the loss of these runs is known. */
  async function readStates(ids: string[]): Promise<StateRow[]> {
    for (;;) {
      try {
        const { rows } = await pool.query<StateRow>(
          'select id, epoch, seq, held_by, wake_seq, status from workflow_instance where id = any($1::uuid[])',
          [ids],
        );
        return rows;
      } catch (error) {
        logger.warn({ err: error, runs: ids.length }, 'runs are read again');
        await sleep(AGAIN_MS);
      }
    }
  }

  /** Moves runs with locked rows to a later batch, so that no other run waits for them. */
  function retryLater(entries: Entry[]): void {
    locked += entries.length;
    setTimeout(() => {
      locked -= entries.length;
      retries.push(...entries);
      kick();
    }, LOCKED_MS);
  }

  /** Halves a batch that the database refuses until the refused run is alone, so that the others commit. */
  async function writeInHalves(batch: Entry[], error: Error): Promise<void> {
    if (batch.length > 1) {
      const middle = batch.length >> 1;
      await write(batch.slice(0, middle));
      return write(batch.slice(middle));
    }
    for (const { run, step } of batch) {
      run.committing = false;
      guard(run, () => options.onRefused(run, step, error));
    }
  }

  return {
    stats,
    submit,
    idle: () =>
      isIdle()
        ? Promise.resolve()
        : new Promise((resolve) => {
            idleWaiters.push(resolve);
          }),
  };
}

interface CommitRow {
  id: string;
  wake_seq: number;
  watched: boolean;
  ready: boolean;
}

interface StateRow {
  id: string;
  epoch: number;
  seq: number;
  held_by: string | null;
  wake_seq: number;
  status: string;
}

/**
 * Trouble of a connection or a server that passes: a restart, a failover to a standby that cannot write yet, a full disk, a deadlock,
 * a lock or statement timeout. Any other error is of the data, or of our own code, and would come again.
 */
function mayPass(error: unknown): boolean {
  const code = error instanceof Error && 'code' in error ? String(error.code) : '';
  return isConnectionError(error) || /^(08|40|53|57|58|25006|55P03)/.test(code);
}

function sizeOf({ events, children, requests }: Step): number {
  let size = 0;
  for (const { payload } of events) size += payload?.length ?? 0;
  for (const { input } of children) size += JSON.stringify(input).length;
  for (const { config } of requests) size += JSON.stringify(config).length;
  return size;
}

function isPlain(step: Step): boolean {
  return (
    step.waits.length === 0 &&
    step.resolved.length === 0 &&
    step.children.length === 0 &&
    step.requests.length === 0 &&
    step.release !== 'park'
  );
}

function statusOf(step: Step): string {
  return step.end?.status ?? (step.release === 'park' ? 'WAITING' : 'RUNNING');
}

function stepValues(batch: Entry[], leaseID: string): string[] {
  const ids: string[] = [];
  const epochs: number[] = [];
  const from: number[] = [];
  const to: number[] = [];
  const statuses: string[] = [];
  const releases: number[] = [];
  const seen: number[] = [];
  const outputs: (string | null)[] = [];
  const errors: (string | null)[] = [];
  const eventRun: string[] = [];
  const eventSeq: number[] = [];
  const eventNode: (string | null)[] = [];
  const eventIteration: number[] = [];
  const eventAttempt: number[] = [];
  const eventStatus: string[] = [];
  const eventExit: (string | null)[] = [];
  const eventPayload: (string | null)[] = [];
  for (const { run, step, fromSeq, toSeq, output } of batch) {
    ids.push(run.id);
    epochs.push(run.epoch);
    from.push(fromSeq);
    to.push(toSeq);
    statuses.push(statusOf(step));
    releases.push(step.end || step.release === 'park' ? 1 : step.release === 'yield' ? 2 : 0);
    seen.push(run.seen);
    outputs.push(output);
    errors.push(step.end?.error ? JSON.stringify(step.end.error) : null);
    let seq = fromSeq;
    for (const event of step.events) {
      seq += 1;
      eventRun.push(run.id);
      eventSeq.push(seq);
      eventNode.push(event.nodeID);
      eventIteration.push(event.iteration);
      eventAttempt.push(event.attempt);
      eventStatus.push(event.status);
      eventExit.push(event.exit);
      eventPayload.push(event.payload);
    }
  }
  return [
    leaseID,
    plainArray(ids),
    plainArray(epochs),
    plainArray(from),
    plainArray(to),
    plainArray(statuses),
    plainArray(releases),
    plainArray(seen),
    textArray(outputs),
    textArray(errors),
    plainArray(eventRun),
    plainArray(eventSeq),
    textArray(eventNode),
    plainArray(eventIteration),
    plainArray(eventAttempt),
    plainArray(eventStatus),
    textArray(eventExit),
    textArray(eventPayload),
  ];
}

/** Waits, ended waits, children and requests are sent as JSON: they are few, and have many shapes. */
function waitValues(batch: Entry[]): string[] {
  const waits = batch.flatMap(({ run, step }) =>
    step.waits.map((wait) => ({
      instance_id: run.id,
      node_id: wait.nodeID,
      iteration: wait.iteration,
      kind: wait.kind,
      ref: wait.ref,
      due_ms: wait.dueInMs,
    })),
  );
  const resolved = batch.flatMap(({ run, step }) =>
    step.resolved.map((nodeID) => ({ instance_id: run.id, node_id: nodeID })),
  );
  const children = batch.flatMap(({ run, step }) =>
    step.children.map((child) => ({
      parent_id: run.id,
      id: child.id,
      workflow_id: child.workflowID,
      version_id: child.versionID,
      node_id: child.nodeID,
      input: child.input,
      timeout_s: child.timeoutMs / 1000,
    })),
  );
  const requests = batch.flatMap(({ run, step }) =>
    step.requests.map((request) => ({
      instance_id: run.id,
      id: request.id,
      tenant_id: run.tenantID,
      node_id: request.nodeID,
      iteration: request.iteration,
      config: request.config,
      expires_ms: request.expiresInMs,
    })),
  );
  return [JSON.stringify(waits), JSON.stringify(resolved), JSON.stringify(children), JSON.stringify(requests)];
}

function toRows({ run, step, fromSeq }: Entry): RunEventRow[] {
  return step.events.map((event, index) => ({
    instanceID: run.id,
    seq: fromSeq + index + 1,
    nodeID: event.nodeID,
    iteration: event.iteration,
    attempt: event.attempt,
    status: event.status,
    payload: event.payload === null ? null : (JSON.parse(event.payload) as RunEventPayload),
  }));
}

// $1 lease; $2..$10 one element per run; $11..$18 one element per event. `is not distinct from` keeps the planner off the
// index of held runs, which is full of dead entries: the id alone finds the row.
const LOCKED = `
with c as (
  select * from unnest($2::uuid[], $3::int[], $4::bigint[], $5::bigint[], $6::text[], $7::int2[], $8::int[], $9::jsonb[], $10::jsonb[])
    as c(id, epoch, from_seq, to_seq, status, release, seen, output, error)
),
l as (
  select c.* from c join workflow_instance i on i.id = c.id
  where i.epoch = c.epoch and i.held_by is not distinct from $1::uuid and i.seq = c.from_seq
  order by i.id for no key update of i skip locked
)`;

const UPDATED = (wakeAt: string) => `
u as (
  update workflow_instance i
  set seq = l.to_seq, status = l.status, losses = 0, hand_backs = 0, wake_at = ${wakeAt}, updated_at = now(),
      held_by = case when l.release = 0 then i.held_by end,
      ready_at = case when l.release = 2 or (l.status = 'WAITING' and i.wake_seq > l.seen) then now() end,
      output = l.output, error = l.error,
      completed_at = case when l.status in ('COMPLETED', 'FAILED', 'CANCELLED') then now() end
  from l where i.id = l.id
  returning i.id, i.tenant_id, i.caller, i.deadline_at, i.depth, i.wake_seq, coalesce(i.watched_until > now(), false) as watched, i.ready_at is not null as ready
),
e as (
  insert into run_event (instance_id, seq, node_id, iteration, attempt, status, exit, payload)
  select v.* from unnest($11::uuid[], $12::bigint[], $13::text[], $14::int[], $15::int[], $16::text[], $17::text[], $18::jsonb[])
    as v(instance_id, seq, node_id, iteration, attempt, status, exit, payload)
  join u on u.id = v.instance_id
)`;

/** The fenced commit. Updates only runs whose epoch, holder and seq are as this process knows them. */
export const COMMIT = `${LOCKED},${UPDATED('null')}
select id, wake_seq, watched, ready from u`;

const COMMIT_AND_WAITS = `${LOCKED},
w as (
  select r.instance_id, r.node_id, coalesce(r.iteration, 0) as iteration, r.kind, r.ref,
         now() + make_interval(secs => r.due_ms / 1000.0) as due_at
  from jsonb_to_recordset($19::jsonb) as r(instance_id uuid, node_id text, iteration int, kind text, ref uuid, due_ms double precision)
),
over as (select * from jsonb_to_recordset($20::jsonb) as r(instance_id uuid, node_id text)),
due as (
  select l.id, least(
    (select min(w.due_at) from w where w.instance_id = l.id),
    (select min(rw.due_at) from run_wait rw where rw.instance_id = l.id
       and not exists (select from over where over.instance_id = rw.instance_id and over.node_id = rw.node_id))
  ) as at from l where l.status = 'WAITING'
),${UPDATED('(select due.at from due where due.id = l.id)')},
gone as (
  delete from run_wait rw using u where rw.instance_id = u.id
    and (exists (select from over where over.instance_id = rw.instance_id and over.node_id = rw.node_id)
      or exists (select from l where l.id = u.id and l.status in ('COMPLETED', 'FAILED', 'CANCELLED')))
    and not exists (select from w where w.instance_id = rw.instance_id and w.node_id = rw.node_id)
),
added as (
  insert into run_wait (instance_id, node_id, iteration, kind, ref, due_at)
  select w.instance_id, w.node_id, w.iteration, w.kind, w.ref, w.due_at from w join u on u.id = w.instance_id
  on conflict (instance_id, node_id, iteration) do update set kind = excluded.kind, ref = excluded.ref, due_at = excluded.due_at
),
unanswered as (
  update collection_request cr set status = 'CANCELLED', updated_at = now() from l join u on u.id = l.id
  where cr.instance_id = u.id and cr.status = 'PENDING' and l.status in ('COMPLETED', 'FAILED', 'CANCELLED')
),
children as (
  insert into workflow_instance (id, tenant_id, workflow_id, version_id, class, ready_at, deadline_at, parent_id, parent_node_id, depth, caller, input)
  select r.id, u.tenant_id, r.workflow_id, r.version_id, 'interactive', now(), least(u.deadline_at, now() + make_interval(secs => r.timeout_s)),
         u.id, r.node_id, u.depth + 1, u.caller || jsonb_build_object('origin', 'workflow', 'originID', u.id), r.input
  from jsonb_to_recordset($21::jsonb) as r(parent_id uuid, id uuid, workflow_id uuid, version_id uuid, node_id text, input jsonb, timeout_s double precision)
  join u on u.id = r.parent_id
),
requests as (
  insert into collection_request (id, tenant_id, instance_id, node_id, iteration, collection_type, collection_config, expires_at)
  select r.id, r.tenant_id, r.instance_id, r.node_id, coalesce(r.iteration, 0), 'form', r.config, now() + make_interval(secs => r.expires_ms / 1000.0)
  from jsonb_to_recordset($22::jsonb) as r(instance_id uuid, id uuid, tenant_id uuid, node_id text, iteration int, config jsonb, expires_ms double precision)
  join u on u.id = r.instance_id
)
select id, wake_seq, watched, ready from u`;
