import { type Backup, readManifest, unitsOf } from './manifest.ts';
import { readParts } from './parts.ts';
import type { BackupStore } from './store.ts';

export interface Verified {
  backup: Backup;
  parts: number;
  bytes: number;
}

/** Reads every part of a backup. Throws at the first that is missing or has changed. */
export async function verifyBackup(store: BackupStore): Promise<Verified> {
  const backup = await readManifest(store);
  let [parts, bytes] = [0, 0];
  for (const unit of unitsOf(backup))
    for await (const part of readParts(store, unit)) {
      parts += 1;
      bytes += part.length;
    }
  return { backup, parts, bytes };
}
