/** The folder of an embedded Gantry (`.gantry`): one process at a time, and what it generated once and must not lose. */
import { randomBytes } from 'node:crypto';
import { chmod, chown, mkdir, rename, rm, stat, writeFile } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { fingerprintOf } from '#shared/core/key-ring.ts';
import { readIfThere, syncFolder } from './files.ts';

const SECRETS_KEYS_FILE = 'secrets-keys';

export interface Home extends AsyncDisposable {
  /** Absolute. */
  readonly dir: string;
  /** For `SECRETS_KEYS`. Losing it is losing every stored secret. */
  readonly secretsKeys: string;
  /** 32 random bytes in base64, made on first use and stored in a file of that name. */
  secret(name: string): Promise<string>;
}

export async function openHome(folder: string): Promise<Home> {
  const dir = resolve(folder);
  const lock = join(dir, 'lock');
  let release: (() => void) | undefined;
  try {
    await makeDir(dir);
    release = await acquireLock(lock);
    const secretsKeys = await readOrMake(join(dir, SECRETS_KEYS_FILE), newKey);
    return {
      dir,
      secretsKeys: asKeys(secretsKeys),
      secret: (name) => readOrMake(join(dir, name)),
      [Symbol.asyncDispose]: async () => release?.(),
    };
  } catch (error) {
    release?.();
    if (error instanceof AlreadyRunning) throw new Error(`${error.message}: ${dir}`);
    throw new Error(`Gantry cannot keep its files in ${dir}: ${error instanceof Error ? error.message : error}`, {
      cause: error,
    });
  }
}

/** For a command beside the Gantry that runs on the folder; undefined when none has yet. */
export async function readSecretsKeys(dir: string): Promise<string | undefined> {
  const text = await readIfThere(join(dir, SECRETS_KEYS_FILE));
  return text && asKeys(text.trim());
}

/** A key whose id is its fingerprint: if the file is lost, the next key has another id. */
function newKey(): string {
  const key = randomBytes(32);
  return `${fingerprintOf(key)}:${key.toString('base64')}`;
}

/** The file holds the key that was made for it, without an id if an earlier version made it, or the ring that a person has put in its place. */
function asKeys(text: string): string {
  return text.includes(':') ? text : `embedded:${text}`;
}

class AlreadyRunning extends Error {}

/** As root, gives the folder to the owner of the project, who can then start without root. Mode 0700 keeps other users out. */
async function makeDir(dir: string): Promise<void> {
  const created = await mkdir(dir, { recursive: true, mode: 0o700 });
  if (created !== undefined) await giveTo(dirname(created), dir);
  await chmod(dir, 0o700);
}

/**
 * The kernel keeps SQLite's lock for as long as the process lives, however that ends: it cannot go stale, and no pid
 * can be mistaken for ours. Nothing else here may open the file, because closing it anywhere would drop the lock.
 */
async function acquireLock(path: string): Promise<() => void> {
  const database = new DatabaseSync(path);
  try {
    database.exec('PRAGMA journal_mode = MEMORY; PRAGMA locking_mode = EXCLUSIVE; BEGIN EXCLUSIVE');
  } catch (error) {
    database.close();
    const busy = error instanceof Error && 'errcode' in error && error.errcode === 5;
    if (!busy) throw error;
    const pid = (await readIfThere(`${path}.pid`))?.trim() ?? 'unknown';
    throw new AlreadyRunning(`Gantry is already running on this folder (pid ${pid})`);
  }
  await chmod(path, 0o600);
  await giveTo(dirname(path), path);
  await writeOwned(`${path}.pid`, `${process.pid}\n`);
  return () => database.close();
}

/** Writes beside the file, syncs, renames: secrets sealed with a half-written key could never be opened again. */
async function readOrMake(path: string, make = () => randomBytes(32).toString('base64')): Promise<string> {
  const existing = await readIfThere(path);
  if (existing !== undefined) return existing.trim();

  const value = make();
  await writeOwned(`${path}.new`, `${value}\n`);
  await rename(`${path}.new`, path);
  await syncFolder(dirname(path));
  return value;
}

async function writeOwned(path: string, text: string): Promise<void> {
  await rm(path, { force: true });
  await writeFile(path, text, { mode: 0o600, flush: true });
  await giveTo(dirname(path), path);
}

/** As root, gives a new file to the owner of its folder. */
async function giveTo(folder: string, path: string): Promise<void> {
  if (!isRoot()) return;
  const { uid, gid } = await stat(folder);
  await chown(path, uid, gid);
}

function isRoot(): boolean {
  return process.getuid?.() === 0;
}
