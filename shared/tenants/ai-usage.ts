import { quotaExceeded, readQuotas } from '../access/quotas.ts';
import type { Caller } from '../core/caller.ts';
import { AppError } from '../core/errors.ts';
import { inTransaction, type Pool } from '../db/pool.ts';
import { onClient, type Query } from '../db/query.ts';

export type AIPurpose = 'test' | 'query' | 'workflow' | 'chat' | 'node';

export interface AICall {
  id: string;
  tenantID: string;
  caller: Caller;
  purpose: AIPurpose;
  model: string;
  /** Estimate of the most tokens that the call may use. */
  tokens: number;
  /** Time after which the call is certain to have ended, or its worker to have died. */
  timeoutMs: number;
}

export interface AIBudget {
  quota: 'aiTokensPerDay' | 'aiTokensPerMonth' | 'aiCalls';
  /** The lower of the tenant's own limit and its quota. */
  max: number;
  /** Used tokens with those reserved for calls that have not ended; for `aiCalls` the number of such calls. */
  used: number;
  /** Whether `max` is the tenant's own limit. */
  isOwn: boolean;
}

const names = ['aiTokensPerDay', 'aiTokensPerMonth', 'aiCalls'] as const;

/**
 * Reserves the tokens that a call may use from the budgets of its tenant, or throws QUOTA_EXCEEDED or RATE_LIMITED. Calls of one tenant are reserved
 * one after the other, so each sees what those before it have reserved.
 */
export async function reserveCall(pool: Pool, call: AICall): Promise<void> {
  const { id, tenantID, caller, purpose, model, tokens, timeoutMs } = call;
  await inTransaction(pool, async (client) => {
    const query = onClient(client);
    await lockCalls(query, tenantID);
    for (const budget of await readBudgets(query, tenantID)) {
      // `requireBudgetForAnswer` has counted the answer of a chat when it began. Its calls are compared only with the calls under way.
      const isCounted = budget.quota === 'aiCalls' && purpose !== 'chat';
      requireBudget(isCounted ? { ...budget, used: await countCallsInFlight(query, tenantID) } : budget, tokens);
    }
    const userID = caller.userID ?? (caller.type === 'user' ? caller.id : null);
    const keyID = caller.type === 'apiKey' ? caller.id : null;
    await query(RESERVE, [id, tenantID, userID, keyID, purpose, model, tokens, timeoutMs / 1_000]);
  });
}

/** Throws RATE_LIMITED if no further answer of a chat may begin. Holds the lock of `reserveCall` until the transaction ends. */
export async function requireBudgetForAnswer(query: Query, tenantID: string): Promise<void> {
  await lockCalls(query, tenantID);
  for (const budget of await readBudgets(query, tenantID, ['aiCalls']))
    requireBudget({ ...budget, used: await countCallsInFlight(query, tenantID) }, 0);
}

/** Counts calls in flight. An answer of a chat counts as a call also while its tools are called, so that its next call is not refused. */
async function countCallsInFlight(query: Query, tenantID: string): Promise<number> {
  const { rows } = await query<{ taken: number }>(CALLS_IN_FLIGHT, [tenantID]);
  return rows[0]?.taken ?? 0;
}

const CALLS_IN_FLIGHT = `
select (
  (select count(*) from ai_answer where tenant_id = $1
    and status in ('calling', 'waiting', 'streaming') and not is_unwanted and alive_until > now())
  + (select count(*) from ai_call where tenant_id = $1 and ended_at is null and expires_at > now() and purpose <> 'chat')
)::integer as taken`;

async function lockCalls(query: Query, tenantID: string): Promise<void> {
  await query('select pg_advisory_xact_lock(hashtextextended($1, 0))', [`ai.${tenantID}`]);
}

const RESERVE = `
insert into ai_call (id, tenant_id, day, user_id, api_key_id, purpose, model, reserved_tokens, expires_at)
values ($1, $2, (now() at time zone 'utc')::date, $3, $4, $5, $6, $7, now() + make_interval(secs => $8))`;

export async function readBudgets(
  query: Query,
  tenantID: string,
  wanted: readonly AIBudget['quota'][] = names,
): Promise<AIBudget[]> {
  const { rows } = await query<Record<AIBudget['quota'], number | null>>(OWN, [tenantID]);
  return (await readQuotas(query, wanted, tenantID)).map(({ quota, max, used }) => {
    // Safe: `readQuotas` returns the quotas that are `wanted`.
    const name = quota as AIBudget['quota'];
    const own = rows[0]?.[name] ?? max;
    return { quota: name, max: Math.min(own, max), used, isOwn: own < max };
  });
}

const OWN = `
select max_tokens_per_day as "aiTokensPerDay", max_tokens_per_month as "aiTokensPerMonth", max_calls as "aiCalls"
from ai_config where tenant_id = $1`;

function requireBudget({ quota, max, used, isOwn }: AIBudget, tokens: number): void {
  if (quota === 'aiCalls') {
    if (used + 1 <= max) return;
    throw new AppError(
      'RATE_LIMITED',
      `This tenant has ${used} calls of language models under way, and may have ${max}`,
      { retry: true, retryAfter: 2, reason: quota },
    );
  }
  if (used + tokens <= max) return;
  if (!isOwn) throw quotaExceeded({ quota, max, used });
  const period = quota === 'aiTokensPerDay' ? 'day' : 'month';
  throw new AppError(
    'QUOTA_EXCEEDED',
    `This call may need ${tokens} tokens of a language model; of the ${max} a ${period} that the tenant has set for itself, ${used} are used or reserved`,
    { details: { quota, max, used }, reason: quota },
  );
}

export interface AIEnd {
  id: string;
  inputTokens: number;
  outputTokens: number;
  /** `answered`, or the code of the error. */
  outcome: string;
}

/** Replaces the reservation by what the call has used. Changes nothing when it is repeated. */
export async function settleCall(pool: Pool, { id, inputTokens, outputTokens, outcome }: AIEnd): Promise<void> {
  await pool.query(SETTLE, [id, inputTokens, outputTokens, outcome]);
}

const SETTLE = `
with ended as (
  update ai_call set ended_at = now(), input_tokens = $2, output_tokens = $3, outcome = $4
  where id = $1 and ended_at is null returning tenant_id, day)
insert into ai_usage (tenant_id, day, calls, input_tokens, output_tokens)
select tenant_id, day, 1, $2, $3 from ended
on conflict (tenant_id, day) do update set calls = ai_usage.calls + 1, updated_at = now(),
  input_tokens = ai_usage.input_tokens + excluded.input_tokens, output_tokens = ai_usage.output_tokens + excluded.output_tokens`;

/** Ends a call whose worker is gone. All reserved tokens count as used, because the number that the call has used is unknown. */
export async function settleLostCall(pool: Pool, id: string): Promise<void> {
  await pool.query(SETTLE_LOST, [id]);
}

const SETTLE_LOST = `
with ended as (
  update ai_call set ended_at = now(), input_tokens = reserved_tokens, output_tokens = 0, outcome = 'WORKER_LOST'
  where id = $1 and ended_at is null returning tenant_id, day, reserved_tokens)
insert into ai_usage (tenant_id, day, calls, input_tokens)
select tenant_id, day, 1, reserved_tokens from ended
on conflict (tenant_id, day) do update set calls = ai_usage.calls + 1, updated_at = now(),
  input_tokens = ai_usage.input_tokens + excluded.input_tokens`;

export interface AIUsageOfDay {
  day: string;
  calls: number;
  inputTokens: number;
  outputTokens: number;
}

/** Days with calls, newest first. */
export async function readUsageByDay(query: Query, tenantID: string, days: number): Promise<AIUsageOfDay[]> {
  const { rows } = await query<AIUsageOfDay>(BY_DAY, [tenantID, days]);
  return rows.map(({ day, calls, inputTokens, outputTokens }) => ({
    day,
    calls,
    inputTokens: Number(inputTokens),
    outputTokens: Number(outputTokens),
  }));
}

const BY_DAY = `
select day::text, calls, input_tokens as "inputTokens", output_tokens as "outputTokens" from ai_usage
where tenant_id = $1 and day > (now() at time zone 'utc')::date - $2::integer order by day desc`;
