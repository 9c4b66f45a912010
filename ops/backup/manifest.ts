/** The description of a backup in itself: `manifest.json` once it is complete, `progress.json` until then. */
import { createHash } from 'node:crypto';
import { z } from 'zod';
import { parseValue } from '#shared/core/schema/parse.ts';
import { migrationNames } from '#shared/entities/migrations/names.ts';
import type { BackupStore } from './store.ts';

const Part = z.object({ bytes: z.int().min(1), sha256: z.string().length(64) });
export type Part = z.infer<typeof Part>;

/** A stream in parts: a table, a database of a tenant, or some files. */
const parts = { name: z.string(), parts: z.array(Part) };
const TableUnit = z.object({ ...parts, table: z.string(), columns: z.array(z.string()), rows: z.int() });
const DatabaseUnit = z.object({
  ...parts,
  tenantID: z.uuid(),
  /** Settings of the tenant for the database and its role, which a dump of one database lacks. */
  settings: z.array(z.object({ target: z.string(), name: z.string(), value: z.string() })),
  hasLargeObjects: z.boolean(),
});
const FilesUnit = z.object({
  ...parts,
  /** Files are in the order of their tenants. */
  firstTenantID: z.uuid(),
  lastTenantID: z.uuid(),
  lastFileID: z.uuid(),
  files: z.int(),
});
export type TableUnit = z.infer<typeof TableUnit>;
export type DatabaseUnit = z.infer<typeof DatabaseUnit>;
export type FilesUnit = z.infer<typeof FilesUnit>;
export type Unit = z.infer<z.ZodObject<typeof parts>>;

const Backup = z.object({
  format: z.literal(1),
  id: z.uuid(),
  /** Version of the program that has written it. */
  version: z.string(),
  /** The migrations of the truth database. */
  migrations: z.array(z.string()),
  /** The keys that its secrets are sealed with. The fingerprint is null if the database has none for the id. */
  keys: z.array(z.object({ id: z.string(), fingerprint: z.string().nullable() })),
  startedAt: z.iso.datetime(),
  /** The moment that the truth database is of. */
  snapshotAt: z.iso.datetime().nullable(),
  finishedAt: z.iso.datetime().nullable(),
  sequences: z.array(z.object({ name: z.string(), value: z.int() })),
  tables: z.array(TableUnit),
  databases: z.array(DatabaseUnit),
  /** Databases of tenants that could not be dumped, and why. */
  failedDatabases: z.array(z.object({ tenantID: z.uuid(), error: z.string() })),
  isWithoutDatabases: z.boolean(),
  files: z.array(FilesUnit),
  hasAllFiles: z.boolean(),
});
export type Backup = z.infer<typeof Backup>;

const MANIFEST = 'manifest.json';
const PROGRESS = 'progress.json';
const FILES_OF_A_BACKUP = `${MANIFEST} or ${PROGRESS}`;

/** The manifest of a complete backup. Throws a sentence for anything else. */
export async function readManifest(store: BackupStore): Promise<Backup> {
  const backup = await read(store, MANIFEST);
  if (backup) return backup;
  if (await store.get(PROGRESS))
    throw new Error(
      `${store.address} is a backup that has not ended: run the same "gantry backup" again to complete it`,
    );
  throw new Error(`${store.address} is no backup: it has no ${FILES_OF_A_BACKUP}`);
}

/** An interrupted backup. Throws if there is a complete one. */
export async function readProgress(store: BackupStore): Promise<Backup | undefined> {
  if (await store.get(MANIFEST))
    throw new Error(`${store.address} has a complete backup already: choose another folder or prefix`);
  return await read(store, PROGRESS);
}

export async function writeProgress(store: BackupStore, backup: Backup): Promise<void> {
  await store.put(backup.finishedAt === null ? PROGRESS : MANIFEST, textOf(backup));
}

function textOf(backup: Backup): Buffer {
  const checksum = checksumOf(backup);
  return Buffer.from(`${JSON.stringify({ ...backup, checksum }, null, 1)}\n`);
}

/** Checksum of the text that the fields have, in the order of the schema. */
function checksumOf(backup: Backup): string {
  return createHash('sha256')
    .update(JSON.stringify(Backup.parse(backup)))
    .digest('hex');
}

async function read(store: BackupStore, name: string): Promise<Backup | undefined> {
  const bytes = await store.get(name);
  if (!bytes) return undefined;
  const where = `${store.address}/${name}`;
  const json = parseJSON(bytes.toString(), where);
  const format = z.object({ format: z.unknown(), version: z.unknown() }).safeParse(json).data;
  if (format && format.format !== 1)
    throw new Error(
      `${where} has the format ${format.format} of Gantry ${format.version}, and this program knows format 1`,
    );
  const parsed = parseValue(Backup.extend({ checksum: z.string() }), json);
  if (!parsed.success) {
    const [issue] = parsed.issues;
    throw new Error(`${where} is damaged: ${issue?.path.join('.')}: ${issue?.message}`);
  }
  const { checksum, ...backup } = parsed.data;
  if (checksumOf(backup) !== checksum) throw new Error(`${where} is damaged: it has changed since it was written`);
  return backup;
}

function parseJSON(text: string, where: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw new Error(`${where} is damaged: it is no JSON`);
  }
}

/** Refuses a backup with migrations that this program does not know. */
export function requireKnownSchema({ migrations, version }: Backup): void {
  const unknown = migrations.filter((name) => !(migrationNames as readonly string[]).includes(name));
  if (unknown.length > 0)
    throw new Error(
      `The backup is of a newer version: Gantry ${version}, with ${unknown.length === 1 ? 'a migration' : `${unknown.length} migrations`} that this program does not know (${unknown.at(-1)}). Restore it with that version`,
    );
}

/** The units of a backup, in the order in which they were written. */
export function unitsOf({ tables, files, databases }: Backup): Unit[] {
  return [...tables, ...files, ...databases];
}
