import { z } from 'zod';
import type { Caller } from '#shared/core/caller.ts';
import type { JsonObject } from '#shared/core/json.ts';
import { NumberText } from '#shared/core/schema/number-text.ts';
import { requireValue } from '#shared/core/schema/parse.ts';
import type { EntityManager } from '#shared/entities/orm.ts';
import { ApiKey } from '#shared/entities/tables/api-key.ts';
import { User } from '#shared/entities/tables/user.ts';
import { joinConditions, runConditions } from '#shared/runs/batches/filter.ts';
import { RunStatus } from '#shared/workflow/progress/status.ts';
import type { ApiContext } from '../../context/context.ts';
import type { RunColumn } from '../../pages/run-columns.ts';
import type { DataQueryResponse } from '../../queries/answer.ts';
import type { OpenBinding } from './open-binding.ts';
import { allowed } from './open-page.ts';

/** The newest runs of a workflow that a page reaches. */
const REACHED = 1_000;

const orDefault = <S extends z.ZodType>(schema: S) => z.preprocess((value) => value ?? undefined, schema);

/** Inputs that a page may give. An expression without a value leaves it to the default. */
const Inputs = z.strictObject({
  status: z.preprocess((value) => value || undefined, RunStatus.optional()),
  offset: orDefault(NumberText(z.int().min(0).max(REACHED)).default(0)),
  pageSize: orDefault(NumberText(z.int().min(1).max(100)).default(20)),
});

interface Reader {
  em: EntityManager;
  tenantID: string;
  viewer: Caller;
  context: Pick<ApiContext, 'pool' | 'access'>;
}

/** Runs of the workflow of a binding, newest first: what the page shows of them, and what the viewer may do with each. */
export async function readRuns(
  { em, tenantID, viewer, context: { pool, access } }: Reader,
  { id: workflowID, inputs, runColumns }: Pick<OpenBinding, 'id' | 'inputs' | 'runColumns'>,
): Promise<z.output<typeof DataQueryResponse>> {
  const began = performance.now();
  const { status, offset, pageSize } = requireValue(Inputs, inputs, ['inputValues']);
  const { sql, params } = joinConditions(runConditions(tenantID, { workflowID, status, isTest: false }), 'r', 2);
  const values = [tenantID, ...params];
  const from = `from workflow_instance r where r.tenant_id = $1 and ${sql} order by r.created_at desc, r.id desc`;
  const size = Math.min(pageSize, REACHED - offset);
  const { rows } = await pool.query<Row>(`${ROW} ${from} limit ${size} offset ${offset}`, values);
  const counted = await pool.query<{ n: number }>(
    `select count(*)::int as n from (select 1 ${from} limit ${REACHED + 1}) reached`,
    values,
  );
  const found = counted.rows[0]?.n ?? 0;
  const names = runColumns.includes('startedBy') ? await namesOf(em, rows) : new Map<string, string>();
  const may = await allowed(viewer, { tenantID, pool, policy: access.policy });
  const object = `workflow:${workflowID}`;
  const [mayRead, mayExecute] = [await may('workflow.read', object), await may('workflow.execute', object)];
  const all = rows.map((run): Record<RunColumn, JsonObject[string]> => {
    const hasEnded = run.completedAt !== null;
    return {
      ...{ instanceID: run.id, status: run.status, errorCode: run.errorCode, startedBy: starterOf(run, names) },
      createdAt: run.createdAt.toISOString(),
      startedAt: run.startedAt?.toISOString() ?? null,
      completedAt: run.completedAt?.toISOString() ?? null,
      durationSeconds: run.seconds === null ? null : Math.round(run.seconds * 10) / 10,
      canOpen: mayRead,
      canStop: mayExecute && !hasEnded,
      canRerun: mayExecute && mayRead && hasEnded,
    };
  });
  return {
    dataQueryResult: all.map((row) => Object.fromEntries(runColumns.map((name) => [name, row[name]]))),
    rowCount: Math.min(found, REACHED),
    truncated: found > REACHED,
    durationMs: performance.now() - began,
    isCached: false,
  };
}

interface Row {
  id: string;
  status: string;
  caller: Caller;
  isChild: boolean;
  createdAt: Date;
  startedAt: Date | null;
  completedAt: Date | null;
  seconds: number | null;
  errorCode: string | null;
}

const ROW = `
select r.id, r.status, r.caller, r.parent_id is not null as "isChild", r.created_at as "createdAt", r.started_at as "startedAt",
       r.completed_at as "completedAt", r.error ->> 'code' as "errorCode",
       extract(epoch from r.completed_at - r.started_at)::float8 as seconds`;

/** Who asked for a run: a run of a page has its creator as the caller. */
function personOf({ caller, isChild }: Row): Caller['requestedBy'] | undefined {
  const { type, id, origin, requestedBy } = caller;
  if (requestedBy) return requestedBy;
  return isChild || type === 'system' || origin !== 'direct' ? undefined : { type, id };
}

/** The addresses of users and the names of API keys. */
async function namesOf(em: EntityManager, runs: readonly Row[]): Promise<ReadonlyMap<string, string>> {
  const people = runs.flatMap((run) => personOf(run) ?? []);
  const idsOf = (type: string) => ({
    id: { $in: [...new Set(people.flatMap((one) => (one.type === type ? [one.id] : [])))] },
  });
  const users = await em.find(User, idsOf('user'), { fields: ['email'] });
  const keys = await em.find(ApiKey, idsOf('apiKey'), { fields: ['apiKeyName'] });
  return new Map([
    ...users.map(({ id, email }) => [id, email ?? 'a user'] as const),
    ...keys.map(({ id, apiKeyName }) => [id, apiKeyName] as const),
  ]);
}

const origins: Readonly<Record<string, string>> = {
  cron: 'a cron job',
  listener: 'a listener',
  workflow: 'another run',
};

function starterOf(run: Row, names: ReadonlyMap<string, string>): string {
  const person = personOf(run);
  if (person) return names.get(person.id) ?? (person.type === 'user' ? 'a user' : 'an API key');
  return run.isChild ? 'another run' : (origins[run.caller.origin] ?? run.caller.origin);
}
