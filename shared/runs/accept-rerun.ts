import { AppError } from '../core/errors.ts';
import type { JsonObject } from '../core/json.ts';
import { claimKey, type IdempotencyClaim, notYet, storeResponse, whenKeyIsFree } from '../db/idempotency.ts';
import { inTransaction, type Pool, type PoolClient } from '../db/pool.ts';
import { onClient } from '../db/query.ts';
import { insertRuns, type NewRun } from './accept.ts';

/** A run that repeats an ended one (`rerunOf`) and reuses some of its results. */
export interface NewRerun extends NewRun {
  id: string;
  rerunOf: string;
  /** Nodes whose results are reused, as far as the earlier run has results for them. */
  reusable: readonly string[];
}

export interface RerunToAccept {
  run: NewRerun;
  claim: IdempotencyClaim | undefined;
  /** Makes the response, which is stored with the key, from the nodes whose results were reused. */
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
 * Inserts the run, with the reused results copied as its first events: a worker continues after them, as it continues a run that
 * another worker has left. Returns the nodes whose results were reused.
 */
export async function insertRerun(client: PoolClient, run: NewRerun): Promise<string[]> {
  await insertRuns(client, [run]);
  if (run.reusable.length === 0) return [];
  const { rows } = await client.query<Taken>(COPY, [run.rerunOf, run.tenantID, run.reusable, run.id]);
  return nodesOf(rows);
}

/** Finds the nodes whose results `insertRerun` would reuse. */
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
  /** Whether all events of the earlier run are still stored. */
  isWhole: boolean;
}

function nodesOf([taken]: readonly Taken[]): string[] {
  if (!taken?.isWhole)
    throw new AppError('CONFLICT', 'The results of this run are no longer kept: re-run it from its start');
  return taken.nodes;
}

// Results of nodes outside of loop bodies: a node in a body is a part of the node that repeats the body. The earlier run may itself have
// reused a result: then its `reusedFrom`, the run that computed the result, wins over the id of the earlier run.
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
