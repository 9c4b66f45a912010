import { setTimeout as sleep } from 'node:timers/promises';
import { type AuditRecord, insertAuditRecords } from '../access/audit/records.ts';
import type { Rights } from '../access/policy/rights.ts';
import { requireQuota } from '../access/quotas.ts';
import type { Caller } from '../core/caller.ts';
import { newID } from '../core/ids.ts';
import type { Json, JsonObject } from '../core/json.ts';
import { claimKey, type IdempotencyClaim, storeResponse, whenKeyIsFree } from '../db/idempotency.ts';
import { inTransaction, type Pool, type PoolClient } from '../db/pool.ts';
import { onClient, onPool } from '../db/query.ts';
import { storableJSON } from '../db/storable.ts';
import type { Runs } from './runs.ts';
import {
  FIND_EVENT,
  FIND_REACHED,
  FIND_UNTOLD,
  FIND_WAITING_WORKFLOWS,
  GIVE_EVENT,
  HAS_LEFT,
  INSERT_EVENT,
  MARK_TOLD,
  NO_WORKFLOW,
} from './workflow-event-rows.ts';

export interface NewEvent {
  tenantID: string;
  name: string;
  key: string;
  data: Json;
  /** Runs that begin to wait within this time get the event as well. 0: it reaches only runs that wait now. */
  rememberSeconds: number;
  /** The sender, who must be permitted to execute the workflow of each run that the event reaches, now or later. */
  caller: Caller;
  /** The entry of the audit trail, written with the event. */
  entry?: AuditRecord;
}

export type EventAnswer = {
  eventID: string;
  reached: number;
  runs: { instanceID: string; workflowID: string | null }[];
};

export interface Events {
  /**
   * Stores an event, then delivers it to all runs that wait for its name and key. A node stores its wait, then looks for stored events:
   * so of a wait and an event, whichever is committed last sees the other. A repeated `Idempotency-Key` sends nothing again.
   */
  send(event: NewEvent, claim?: IdempotencyClaim): Promise<EventAnswer>;
  /** Delivers events whose process died before it had delivered them. Returns their number. */
  tellForgotten(): Promise<number>;
}

interface Dependencies {
  pool: Pool;
  runs: Pick<Runs, 'wake'>;
  rights: Rights;
}

/** For the API, and for workers that send events or finish what another process began. */
export function createEvents({ pool, runs, rights }: Dependencies): Events {
  async function allowedWorkflows(event: StoredEvent): Promise<string[]> {
    const { tenantID, name, key } = event;
    const { rows } = await pool.query<{ workflowID: string }>(FIND_WAITING_WORKFLOWS, [tenantID, name, key]);
    const allowed: string[] = [];
    for (const { workflowID } of rows) if (await rights.may(event, accessTo(workflowID))) allowed.push(workflowID);
    return allowed;
  }

  async function deliver(event: StoredEvent): Promise<void> {
    const { id, tenantID, name, key } = event;
    const workflows = await allowedWorkflows(event);
    const values = [tenantID, name, key, workflows, id];
    for (let tries = 0; workflows.length > 0 && tries < MAX_TRIES; ) {
      const { rows } = await pool.query<{ instanceID: string }>(GIVE_EVENT, [...values, BATCH]);
      // Committed above: if this fails, the outbox entries wake the runs.
      if (rows.length > 0) await runs.wake(rows.map(({ instanceID }) => instanceID));
      const left = await pool.query<{ hasLeft: boolean }>(HAS_LEFT, values);
      if (!left.rows[0]?.hasLeft) break;
      if (rows.length > 0) continue;
      // The rows of the waits left are locked by a commit of their run or by another event: tries again.
      tries += 1;
      if (tries === MAX_TRIES) return;
      await sleep(PAUSE_MS);
    }
    await pool.query(MARK_TOLD, [id]);
  }

  async function find(id: string): Promise<StoredEvent | undefined> {
    const { rows } = await pool.query<StoredEvent>(FIND_EVENT, [id]);
    return rows[0];
  }

  async function answerOf(eventID: string): Promise<EventAnswer> {
    const { rows } = await pool.query<{ instanceID: string; workflowID: string | null; total: number }>(FIND_REACHED, [
      eventID,
      MAX_NAMED,
    ]);
    const named = rows.map(({ instanceID, workflowID }) => ({ instanceID, workflowID }));
    return { eventID, reached: rows[0]?.total ?? 0, runs: named };
  }

  return {
    async send(event, claim) {
      const { eventID, ...answer } = await storeOnce(pool, event, claim);
      if ('runs' in answer) return { eventID, ...answer } as EventAnswer;
      const stored = await find(eventID);
      if (stored && !stored.isTold) await deliver(stored);
      const response = await answerOf(eventID);
      if (claim) await storeResponse(onPool(pool), event.tenantID, claim, { status: 200, response });
      return response;
    },
    async tellForgotten() {
      const { rows } = await pool.query<{ id: string }>(FIND_UNTOLD, [BATCH]);
      for (const { id } of rows) {
        const stored = await find(id);
        if (stored) await deliver(stored);
      }
      return rows.length;
    },
  };
}

/** Waits that one statement delivers an event to. */
const BATCH = 500;
/** Runs that the answer names. */
const MAX_NAMED = 1_000;
const MAX_TRIES = 10;
const PAUSE_MS = 20;

interface StoredEvent {
  id: string;
  tenantID: string;
  name: string;
  key: string;
  caller: Caller;
  isTold: boolean;
}

/** The permission that a sender needs for the runs of a workflow. */
export function accessTo(workflowID: string) {
  return {
    permission: 'workflow.execute',
    object: `workflow:${workflowID === NO_WORKFLOW ? '*' : workflowID}`,
  } as const;
}

/** Writes the event with its key, or finds the response to the first request with the key: only the event's id if that did not finish. */
async function storeOnce(
  pool: Pool,
  event: NewEvent,
  claim: IdempotencyClaim | undefined,
): Promise<JsonObject & { eventID: string }> {
  const own = { status: 200, response: { eventID: newID() } };
  let isReplay = false;
  const attempt = () =>
    inTransaction(pool, async (client) => {
      const claimed = claim ? await claimKey(onClient(client), event.tenantID, claim, own) : 'claimed';
      isReplay = claimed !== 'claimed';
      if (claimed !== 'claimed') return claimed;
      await insertEvent(client, own.response.eventID, event);
      return own;
    });
  const answer = claim ? await whenKeyIsFree(claim, attempt) : await attempt();
  if (answer === 'underWay') throw new Error('A request without a key waits for none');
  if (isReplay) claim?.onReplay();
  return { ...answer.response, eventID: String(answer.response.eventID) };
}

async function insertEvent(client: PoolClient, id: string, event: NewEvent): Promise<void> {
  const { tenantID, name, key, caller, rememberSeconds } = event;
  const data = storableJSON(JSON.stringify(event.data));
  const query = onClient(client);
  await requireQuota(query, { quota: 'events', ownerID: tenantID });
  await requireQuota(query, { quota: 'eventBytes', ownerID: tenantID, amount: Buffer.byteLength(data) });
  if (event.entry) await insertAuditRecords(client, [event.entry]);
  await query(INSERT_EVENT, [id, tenantID, name, key, data, JSON.stringify(caller), rememberSeconds]);
}
