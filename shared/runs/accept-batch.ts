import type { Caller } from '../core/caller.ts';
import { AppError } from '../core/errors.ts';
import type { JsonObject } from '../core/json.ts';
import {
  claimKey,
  claimRunKeys,
  forgetKeys,
  type IdempotencyClaim,
  notYet,
  storeResponse,
  whenKeyIsFree,
} from '../db/idempotency.ts';
import { inTransaction, type Pool, type PoolClient } from '../db/pool.ts';
import { onClient } from '../db/query.ts';
import { insertRuns, type NewRun } from './accept.ts';

export interface NewBatch {
  id: string;
  tenantID: string;
  /** Null if its runs may be of several workflows. */
  workflowID: string | null;
  kind: 'execute';
  label: string | null;
  caller: Caller;
}

/** One run of a batch. */
export interface BatchItem {
  run: NewRun & { id: string };
  /** A later item with the same key is answered with this run instead of a new one, as long as idempotency keys are stored. */
  key?: { key: string; requestHash: string };
}

/** The outcome of an item. `isReplay`: the run was accepted for an earlier request. */
export type ItemOutcome = { instanceID: string; isReplay: boolean } | { error: AppError };

export interface BatchToAccept {
  batch: NewBatch;
  items: readonly BatchItem[];
  /** Number of items that validation has refused already; stored with the batch. */
  refused: number;
  /** The route that the keys of items are stored with: the same key at another route is another key. */
  route: string;
  /** The idempotency key of the whole request; absent if it has none. */
  claim?: IdempotencyClaim | undefined;
  /** Makes the response from the outcomes; it is stored with the key of the request. */
  answer(outcomes: readonly ItemOutcome[]): JsonObject;
}

/** The number of runs that the tenant's quota allows, and the error for the others. */
export interface QuotaGrant {
  granted: number;
  refusal: AppError | undefined;
}

/** Writes a batch, its runs and the keys in one transaction, or finds the answer of an earlier request with the same key. */
export async function acceptBatch(pool: Pool, accepting: BatchToAccept & { grant: QuotaGrant }): Promise<JsonObject> {
  const { batch, claim } = accepting;
  let isReplay = false;
  const attempt = () =>
    inTransaction(pool, async (client) => {
      const query = onClient(client);
      // `claimRunKeys` waits for a concurrent request that claims the same keys of items. Its transaction is as short as this one.
      await query(`set local lock_timeout = '10s'`, []);
      const claimed = claim ? await claimKey(query, batch.tenantID, claim, notYet) : 'claimed';
      isReplay = claimed !== 'claimed';
      if (claimed !== 'claimed') return claimed;
      const own = { status: 200, response: accepting.answer(await acceptItems(client, accepting)) };
      if (claim) await storeResponse(query, batch.tenantID, claim, own);
      return own;
    });
  const answer = claim ? await whenKeyIsFree(claim, attempt) : await attempt();
  if (answer === 'underWay') throw new Error('A request without a key waits for none');
  if (isReplay) claim?.onReplay();
  return answer.response;
}

async function acceptItems(
  client: PoolClient,
  { batch, items, grant, refused, route }: BatchToAccept & { grant: QuotaGrant },
): Promise<ItemOutcome[]> {
  const query = onClient(client);
  const scope = { tenantID: batch.tenantID, principal: batch.caller.id, route };
  const keys = items.flatMap(({ key, run }) => (key ? [{ ...key, instanceID: run.id }] : []));
  const earlier = keys.length > 0 ? await claimRunKeys(query, scope, keys) : new Map();

  const accepted: BatchItem[] = [];
  const withoutQuota: string[] = [];
  const outcomes = items.map((item): ItemOutcome => {
    const { key, run } = item;
    const before = key && earlier.get(key.key);
    if (key && before)
      return before.requestHash === key.requestHash ? replay(before.instanceID) : { error: otherItem() };
    if (grant.refusal && accepted.length >= grant.granted) {
      if (key) withoutQuota.push(key.key);
      return { error: grant.refusal };
    }
    accepted.push(item);
    return { instanceID: run.id, isReplay: false };
  });
  if (withoutQuota.length > 0) await forgetKeys(query, scope, withoutQuota);
  const errors = outcomes.filter((outcome) => 'error' in outcome).length;
  await insertBatch(client, batch, { total: accepted.length, refused: refused + errors });
  for (let at = 0; at < accepted.length; at += AT_ONCE)
    await insertRuns(
      client,
      accepted.slice(at, at + AT_ONCE).map(({ run }) => ({ ...run, batchID: batch.id })),
    );
  return outcomes;
}

/** Runs that one statement inserts. Serializing all their inputs to JSON blocks the event loop, so there are not more. */
const AT_ONCE = 100;

function replay(instanceID: string): ItemOutcome {
  return { instanceID, isReplay: true };
}

function otherItem(): AppError {
  return new AppError('CONFLICT', 'This idempotencyKey was used with a different item');
}

async function insertBatch(
  client: Pick<PoolClient, 'query'>,
  { id, tenantID, workflowID, kind, label, caller }: NewBatch,
  { total, refused }: { total: number; refused: number },
): Promise<void> {
  const apiKeyID = caller.type === 'apiKey' ? caller.id : null;
  const values = [id, tenantID, workflowID, kind, label, caller.userID ?? caller.id, apiKeyID, caller, total, refused];
  await client.query(INSERT, values);
}

const INSERT = `
insert into run_batch (id, tenant_id, workflow_id, kind, label, creator_id, created_by_api_key_id, caller, total, refused)
values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)`;
