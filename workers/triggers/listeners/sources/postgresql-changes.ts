import { setTimeout as sleep } from 'node:timers/promises';
import { type Pgoutput, PgoutputPlugin } from 'pg-logical-replication';
import type { z } from 'zod';
import { AppError } from '#shared/core/errors.ts';
import type { JsonObject } from '#shared/core/json.ts';
import { namesIn } from '#shared/triggers/listeners/names-in.ts';
import type { postgresql } from '#shared/triggers/listeners/types/postgresql.ts';
import type { PostgresConnection } from '../../../connections/postgresql/connection.ts';
import { quoteLiteral, quoteName } from '../../../tenant-database/quote.ts';
import type { Arrival, SourceContext } from './source.ts';

type Config = z.output<(typeof postgresql)['config']>;
type Context = SourceContext<unknown, Config>;

/** Time between two polls of a server that has nothing new. */
const IDLE_MS = 500;
/** The server ends a poll with the transaction that exceeds this. */
const CHANGES_AT_ONCE = 1_000;
const FETCHED_AT_ONCE = 200;

export function slotOf(listenerID: string): string {
  return `gantry_${listenerID.replaceAll('-', '')}`;
}

export function publicationOf({ publication }: Config, listenerID: string): string {
  return publication || slotOf(listenerID);
}

/**
 * Polls the changes of a slot, records them, and then advances the slot, so the server keeps what is not recorded. Changes arrive a
 * little later than by streaming. But polling needs only an ordinary connection, reads no more than there is memory for, and
 * acknowledges exactly what was recorded.
 */
export async function readChanges(connection: PostgresConnection, context: Context): Promise<never> {
  const { config, listenerID, signal } = context;
  const slot = slotOf(listenerID);
  const publication = publicationOf(config, listenerID);
  await prepare(connection, { slot, publication, tables: namesIn(config.tables) });
  context.ready();
  while (true) {
    await context.untilCapacity();
    const end = await readSlot(connection, context, { slot, publication });
    if (end === undefined) await sleep(IDLE_MS, undefined, { signal });
    else
      await connection.query('select pg_catalog.pg_replication_slot_advance($1, $2::pg_catalog.pg_lsn)', [slot, end]);
  }
}

interface Names {
  slot: string;
  publication: string;
}

async function prepare(
  { query }: PostgresConnection,
  { slot, publication, tables }: Names & { tables: string[] },
): Promise<void> {
  const { rows } = await query<{ level: string; publication: boolean; slot: boolean }>(
    `select pg_catalog.current_setting('wal_level') as level,
      exists (select from pg_catalog.pg_publication where pubname = $1) as publication,
      exists (select from pg_catalog.pg_replication_slots where slot_name = $2) as slot`,
    [publication, slot],
  );
  const [state] = rows;
  if (state?.level !== 'logical')
    throw new AppError('DB_ERROR', 'The server does not tell of changes: its setting wal_level must be logical');
  const list = tables.map((name) => quoteName(...name.split('.'))).join(', ');
  if (tables.length > 0)
    await query(
      state.publication
        ? `alter publication ${quoteName(publication)} set table ${list}`
        : `create publication ${quoteName(publication)} for table ${list}`,
    );
  // The slot is created after the publication: changes between the two could not be read.
  if (!state.slot) await query(`select pg_catalog.pg_create_logical_replication_slot($1, 'pgoutput')`, [slot]);
}

/** Reads the slot and records its changes. Answers with the end of the last transaction; undefined if there is none. */
async function readSlot(
  { query, types }: PostgresConnection,
  context: Context,
  { slot, publication }: Names,
): Promise<string | undefined> {
  const plugin = new PgoutputPlugin({ protoVersion: 1, publicationNames: [publication] });
  let transaction = { lsn: '', at: '', n: 0 };
  let end: string | undefined;

  async function arrivalOf(data: Buffer): Promise<Arrival | undefined> {
    const message = plugin.parse(data);
    switch (message.tag) {
      case 'begin':
        transaction = { lsn: message.commitLsn ?? '', at: timeOf(message.commitTime), n: 0 };
        return undefined;
      case 'relation':
        await readAsText(message);
        return undefined;
      case 'commit':
        end = message.commitEndLsn ?? end;
        return undefined;
      case 'insert':
      case 'update':
      case 'delete':
        transaction.n += 1;
        return changeOf(message, transaction);
      default:
        return undefined;
    }
  }

  /** The driver's own conversion loses digits and time zones. */
  async function readAsText({ columns }: Pgoutput.MessageRelation): Promise<void> {
    const kinds = columns.map(({ typeOid, typeMod }) => ({ dataTypeID: typeOid, dataTypeModifier: typeMod }));
    await types.learn((sql, values) => query(sql, values), kinds);
    for (const column of columns) column.parser = types.reader(column.typeOid);
  }

  // A cursor reads the changes in batches, since a large transaction would not fit the memory of the worker.
  await query('begin');
  try {
    await query(
      `declare changes no scroll cursor for
       select data from pg_catalog.pg_logical_slot_peek_binary_changes(${quoteLiteral(slot)}, null, ${CHANGES_AT_ONCE},
         'proto_version', '1', 'publication_names', ${quoteLiteral(quoteName(publication))})`,
    );
    while (true) {
      const { rows } = await query<{ data: Buffer }>(`fetch ${FETCHED_AT_ONCE} from changes`);
      if (rows.length === 0) break;
      const arrivals: Arrival[] = [];
      for (const { data } of rows) {
        const arrival = await arrivalOf(data);
        if (arrival) arrivals.push(arrival);
      }
      await Promise.all(arrivals.map(context.record));
    }
  } finally {
    await query('rollback');
  }
  return end;
}

type Change = Pgoutput.MessageInsert | Pgoutput.MessageUpdate | Pgoutput.MessageDelete;

function changeOf(message: Change, { lsn, at, n }: { lsn: string; at: string; n: number }): Arrival {
  const { relation, tag: operation } = message;
  const before = message.tag === 'insert' ? null : (message.old ?? message.key);
  const after = message.tag === 'delete' ? null : message.new;
  const meta: JsonObject = { operation, schema: relation.schema, table: relation.name, lsn, committedAt: at };
  return { body: Buffer.from(JSON.stringify({ ...meta, before, after })), meta, key: `${lsn} ${n}` };
}

/** Microseconds since 1970, as the library has converted them. */
function timeOf(time: unknown): string {
  return new Date(Number(time) / 1_000).toISOString();
}

/** Removes the slot, for which the server would otherwise keep its log, and the publication if the listener has created it. */
export async function removeSlot({ query }: PostgresConnection, config: Config, listenerID: string): Promise<void> {
  await query(
    'select pg_catalog.pg_drop_replication_slot(slot_name) from pg_catalog.pg_replication_slots where slot_name = $1',
    [slotOf(listenerID)],
  );
  if (config.publication === '')
    await query(`drop publication if exists ${quoteName(publicationOf(config, listenerID))}`);
}
