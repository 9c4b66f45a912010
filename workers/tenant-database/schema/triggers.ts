import { AppError } from '#shared/core/errors.ts';
import type { JsonObject } from '#shared/core/json.ts';
import { invalidField } from '#shared/core/schema/issues.ts';
import type { DatabaseOperationOf } from '#shared/messaging/queues/tenant-database.ts';
import type { PostgresConnection } from '../../connections/postgresql/connection.ts';
import { findTable, isOwnSchema, quoteTable, requireSchema, type Table } from '../catalog.ts';
import { quoteName } from '../quote.ts';
import { requireExpressions } from '../sql-text.ts';
import { applyDDL } from './apply-ddl.ts';

export async function listTriggers(
  connection: PostgresConnection,
  { schema }: DatabaseOperationOf<'listTriggers'>,
): Promise<JsonObject> {
  await requireSchema(connection, schema);
  const { rows } = await connection.query<JsonObject>(
    `${TRIGGERS} where n.nspname = $1 and ${isVisible} order by 2, 3`,
    [schema],
  );
  return { databaseTriggers: rows };
}

export async function readTrigger(
  connection: PostgresConnection,
  operation: DatabaseOperationOf<'readTrigger'>,
): Promise<JsonObject> {
  return { databaseTrigger: await findTrigger(connection, operation) };
}

type Name = Pick<DatabaseOperationOf<'readTrigger'>, 'schema' | 'table' | 'trigger'>;

async function findTrigger(connection: PostgresConnection, { schema, table, trigger }: Name): Promise<JsonObject> {
  const { rows } = await connection.query<JsonObject>(
    `${TRIGGERS} where n.nspname = $1 and c.relname = $2 and t.tgname = $3 and ${isVisible}`,
    [schema, table, trigger],
  );
  if (!rows[0]) throw new AppError('NOT_FOUND', 'Trigger not found');
  return rows[0];
}

const isVisible = `not t.tgisinternal and ${isOwnSchema}`;

// The bits of tgtype: 1 row, 2 before, 4 insert, 8 delete, 16 update, 32 truncate, 64 instead.
const TRIGGERS = `
select n.nspname as "databaseSchemaName", c.relname as "databaseTableName", t.tgname as "databaseTriggerName",
  case when t.tgtype & 64 <> 0 then 'INSTEAD OF' when t.tgtype & 2 <> 0 then 'BEFORE' else 'AFTER' end as "triggerTiming",
  array_remove(array[case when t.tgtype & 4 <> 0 then 'INSERT' end, case when t.tgtype & 16 <> 0 then 'UPDATE' end,
                     case when t.tgtype & 8 <> 0 then 'DELETE' end, case when t.tgtype & 32 <> 0 then 'TRUNCATE' end], null) as "triggerEvents",
  case when t.tgtype & 1 <> 0 then 'ROW' else 'STATEMENT' end as "forEach",
  pg_get_triggerdef(t.oid) as "triggerDefinition",
  (select quote_ident(fn.nspname) || '.' || quote_ident(p.proname) from pg_catalog.pg_proc p
   join pg_catalog.pg_namespace fn on fn.oid = p.pronamespace where p.oid = t.tgfoid) as "triggerFunction",
  substring(pg_get_triggerdef(t.oid) from ' WHEN \\((.*)\\) EXECUTE (?:FUNCTION|PROCEDURE) ') as "whenCondition",
  t.tgoldtable as "referencingOld", t.tgnewtable as "referencingNew",
  t.tgdeferrable as deferrable, t.tginitdeferred as "initiallyDeferred", t.tgenabled <> 'D' as "isEnabled"
from pg_catalog.pg_trigger t
join pg_catalog.pg_class c on c.oid = t.tgrelid
join pg_catalog.pg_namespace n on n.oid = c.relnamespace`;

type CreateTrigger = DatabaseOperationOf<'createTrigger'>;

export async function createTrigger(connection: PostgresConnection, operation: CreateTrigger): Promise<JsonObject> {
  const table = await findTable(connection, operation);
  const fault = faultOf(operation, table);
  if (fault) throw fault;
  const routine = await findRoutine(connection, operation);
  const { trigger, timing, events, forEach, condition, preview } = operation;
  if (condition !== null) await requireExpressions([{ text: condition, field: 'triggerCondition' }]);
  const when = condition === null ? '' : ` when (${condition.trim()})`;
  const sql = [
    `create trigger ${quoteName(trigger)} ${timing.toLowerCase()} ${events.join(' or ').toLowerCase()} on ${quoteTable(table)} for each ${forEach.toLowerCase()}${when} execute function ${routine}()`,
  ];
  return await applyDDL(connection, sql, { preview, done: 'Trigger created' });
}

export async function dropTrigger(
  connection: PostgresConnection,
  operation: DatabaseOperationOf<'dropTrigger'>,
): Promise<JsonObject> {
  await findTrigger(connection, operation);
  const sql = [`drop trigger ${quoteName(operation.trigger)} on ${quoteTable(operation)}`];
  return await applyDDL(connection, sql, { ...operation, done: 'Trigger dropped' });
}

function faultOf({ timing, events, forEach, condition }: CreateTrigger, { kind }: Table): AppError | undefined {
  const isView = kind === 'v';
  if (timing === 'INSTEAD OF' && !isView) return invalidField('triggerTiming', 'INSTEAD OF is for views only');
  if (timing === 'INSTEAD OF' && forEach === 'STATEMENT')
    return invalidField('forEach', 'INSTEAD OF is for each ROW only');
  if (timing === 'INSTEAD OF' && condition !== null)
    return invalidField('triggerCondition', 'INSTEAD OF takes no condition');
  if (isView && timing !== 'INSTEAD OF' && forEach === 'ROW')
    return invalidField('triggerTiming', 'on a view must be INSTEAD OF, or for each STATEMENT');
  if (events.includes('TRUNCATE') && forEach === 'ROW')
    return invalidField('triggerEvents', 'TRUNCATE is for each STATEMENT only');
  return undefined;
}

/** Finds the function in its own schema if it names one, else in the schema of the table, else on the search path. */
async function findRoutine(connection: PostgresConnection, { schema, routine }: CreateTrigger): Promise<string> {
  const { rows } = await connection.query<{ schema: string; isTrigger: boolean }>(
    `select n.nspname as schema, p.prorettype = 'trigger'::regtype and p.pronargs = 0 as "isTrigger"
     from pg_catalog.pg_proc p join pg_catalog.pg_namespace n on n.oid = p.pronamespace
     where p.proname = $1 and case when $2::text is null then n.nspname = $3 or pg_function_is_visible(p.oid) else n.nspname = $2 end
     order by 2 desc, n.nspname = $3 desc limit 1`,
    [routine.name, routine.schema, schema],
  );
  const [found] = rows;
  if (!found && routine.isDefault)
    throw invalidField(
      'triggerFunction',
      `is required, since schema "${schema}" has no function "${routine.name}": without triggerFunction, the function with the trigger's name in the table's schema is called`,
    );
  if (!found) throw invalidField('triggerFunction', `there is no function "${routine.name}"`);
  if (!found.isTrigger)
    throw invalidField('triggerFunction', `"${routine.name}" takes arguments or does not return trigger`);
  return quoteName(found.schema, routine.name);
}
