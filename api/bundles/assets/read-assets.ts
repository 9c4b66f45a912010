import { LockMode } from '@mikro-orm/postgresql';
import { yieldToEventLoop } from '#shared/concurrency/cooperative.ts';
import { currentReservation } from '#shared/concurrency/work-context.ts';
import { AppError } from '#shared/core/errors.ts';
import type { JsonObject } from '#shared/core/json.ts';
import { plainArray } from '#shared/db/array.ts';
import { onEntities } from '#shared/db/query.ts';
import type { EntityManager } from '#shared/entities/orm.ts';
import type { BundledType } from './bundle-types.ts';
import { kinds } from './kinds.ts';
import { readers } from './payloads.ts';

/** An asset of the tenant as a bundle would hold it, with the ids of the tenant. */
export interface TenantAsset {
  type: BundledType;
  id: string;
  title: string;
  payload: JsonObject;
}

/** Limits of a bundle: its assets, and the bytes of the rows that are read for it. */
export const MAX_ITEMS = 2_000;
const MAX_BYTES = 16 * 1024 ** 2;

export interface Reading {
  em: EntityManager;
  /** Bytes that were read so far. */
  bytes: number;
  /** Keeps the assets as they are until the transaction ends. */
  locks?: boolean;
}

const AT_ONCE = 50;

/** The assets of a type with these ids, in the order of the ids; without those that the tenant does not have. */
export async function readAssets(
  reading: Reading,
  type: BundledType,
  ids: readonly string[],
  where: object = {},
): Promise<TenantAsset[]> {
  await reserveBytes(reading, type, ids);
  const found = new Map<string, TenantAsset>();
  for (let from = 0; from < ids.length; from += AT_ONCE) {
    for (const asset of await readPart(reading, { type, ids: ids.slice(from, from + AT_ONCE), where }))
      found.set(asset.id, asset);
    await yieldToEventLoop();
  }
  return ids.flatMap((id) => found.get(id) ?? []);
}

/**
 * Reserves memory for the assets before they are read: twice their size, for the rows as read and for the text that is
 * written from them.
 */
async function reserveBytes(reading: Reading, type: BundledType, ids: readonly string[]): Promise<void> {
  const { size } = readers[type];
  if (!size || ids.length === 0) return;
  const { rows } = await onEntities(reading.em)<{ bytes: number }>(size, [plainArray(ids)]);
  const bytes = rows[0]?.bytes ?? 0;
  reading.bytes += bytes;
  if (reading.bytes > MAX_BYTES)
    throw new AppError('PAYLOAD_TOO_LARGE', `A bundle holds at most ${MAX_BYTES} bytes: export fewer assets at once`);
  await currentReservation()?.reserve(2 * bytes);
}

interface Part {
  type: BundledType;
  ids: readonly string[];
  where: object;
}

async function readPart({ em, locks = false }: Reading, { type, ids, where }: Part): Promise<TenantAsset[]> {
  const { entity, around, payload, where: own = {} } = readers[type];
  // Locked in the order of the ids, so that imports do not wait for each other in a circle; read again, since entities
  // may be older.
  const options = locks ? { lockMode: LockMode.PESSIMISTIC_WRITE as const, refresh: true } : { refresh: true };
  const which = { ...where, ...own, id: { $in: [...ids] } };
  const rows = await em.find(entity, which, { ...options, orderBy: { id: 'asc' } });
  const fieldsOf = await around?.(em, rows);
  return rows.map((row) => {
    const fields = { ...payload(row), ...fieldsOf?.(row), ...folderOf(row as Foldered) };
    return { type, id: row.id, title: String(fields[kinds[type].title]), payload: fields };
  });
}

/** A row that may be in a folder; folders themselves have no `folderID`. */
interface Foldered {
  id: string;
  folderID?: string | null;
}

function folderOf(row: Foldered): JsonObject {
  return 'folderID' in row ? { folderID: row.folderID ?? null } : {};
}
