import { AppError } from '../core/errors.ts';
import type { JsonObject } from '../core/json.ts';
import { claimKey, type IdempotencyClaim, notYet, storeResponse, whenKeyIsFree } from '../db/idempotency.ts';
import { inTransaction, type Pool, type PoolClient } from '../db/pool.ts';
import { onClient } from '../db/query.ts';
import { insertRuns, type NewRun } from './accept.ts';

/** A run that takes results over from another, which has ended. */
export interface NewRerun extends NewRun {
  id: string;
  rerunOf: string;
  /** Nodes whose results it takes over, if they have any. */
  reusable: readonly string[];
}

export interface RerunToAccept {
  run: NewRerun;
  claim: IdempotencyClaim | undefined;
  /** Makes the answer, which is stored with the key, from the nodes whose results were taken over. */
  answer(reused: readonly string[]): JsonObject;
}

/** Writes the run, the results and the key in one transaction, or finds the answer of an earlier request with the same key. */
export async function acceptRerun(
  pool: Pool,
  { run, claim, answer, refusal }: RerunToAccept & { refusal: AppError | undefined },
): Promise<JsonObject> {
  let isReplay = false;
  const attempt = () =>
    inTransaction(pool, async (client) => {
      const query = onClient(client);
      const claimed = claim ? await claimKey(query, run.tenantID, claim, notYet) : 'claimed';
      isReplay = claimed !== 'claimed';
      if (claimed !== 'claimed') return claimed;
      if (refusal) throw refusal;
      const own = { status: 200, response: answer(await insertRerun(client, run)) };
      if (claim) await storeResponse(query, run.tenantID, claim, own);
      return own;
    });
  const outcome = claim ? await whenKeyIsFree(claim, attempt) : await attempt();
  if (outcome === 'underWay') throw new Error('A request without a key waits for none');
  if (isReplay) claim?.onReplay();
  return outcome.response;
}

/**
 * Inserts the run with the results that it takes over as its first events, so that a worker goes on behind them as it goes on with a
 * run that another worker has left. Returns the nodes that have results.
 */
export async function insertRerun(client: PoolClient, run: NewRerun): Promise<string[]> {
  await insertRuns(client, [run]);
  if (run.reusable.length === 0) return [];
  const { rows } = await client.query<Taken>(COPY, [run.rerunOf, run.tenantID, run.reusable, run.id]);
  return nodesOf(rows);
}

/** The nodes whose results `insertRerun` would take over. */
export async function findReused(
  pool: Pool,
  { rerunOf, tenantID, reusable }: Pick<NewRerun, 'rerunOf' | 'tenantID' | 'reusable'>,
): Promise<string[]> {
  if (reusable.length === 0) return [];
  const { rows } = await pool.query<Taken>(`${TAKEN} ${NODES}`, [rerunOf, tenantID, reusable]);
  return nodesOf(rows);
}

interface Taken {
  nodes: string[];
  isWhole: boolean;
}

function nodesOf([taken]: readonly Taken[]): string[] {
  if (!taken?.isWhole)
    throw new AppError('CONFLICT', 'The results of this run are no longer kept: re-run it from its start');
  return taken.nodes;
}

// Settled frames outside of bodies; a body's nodes are a part of the node that repeats it. A result that was taken over before
// stays the result of the run that computed it.
const TAKEN = `
with source as (select id, seq from workflow_instance where id = $1 and tenant_id = $2),
stored_events as (
  select coalesce(sum(1 + coalesce(jsonb_array_length(e.started), 0)), 0) = (select seq from source) as whole
  from run_event e where e.instance_id = (select id from source)
),
taken as (
  select e.*, row_number() over (order by e.seq) as n from run_event e
  where e.instance_id = (select id from source) and (select whole from stored_events) and e.node_id = any($3::text[]) and e.frame is null
    and (e.status in ('SUCCESS', 'SKIPPED') or (e.status = 'FAILED' and e.exit is not null))
)`;

const NODES = `
select coalesce((select array_agg(node_id order by n) from taken), '{}') as nodes, (select whole from stored_events) as "isWhole"`;

const COPY = `${TAKEN},
copied as (
  insert into run_event (instance_id, seq, node_id, iteration, attempt, status, exit, payload, brief)
  select $4, n, node_id, iteration, attempt, status, exit, jsonb_build_object('reusedFrom', $1::uuid) || coalesce(payload, '{}'),
         jsonb_build_object('reusedFrom', $1::uuid) || brief
  from taken
),
numbered as (update workflow_instance set seq = (select count(*) from taken) where id = $4)
${NODES}`;
