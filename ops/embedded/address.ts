/** Where the Gantry of a folder is reached, for commands beside it. */
import { rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { readIfThere } from './files.ts';

const ADDRESS_FILE = 'address';

export interface Address {
  /** On this machine. */
  url: string;
  /** Set if users sign in at this Gantry itself: their browsers reach it here. */
  signInAt?: string | undefined;
}

/** Disposing it removes the file, since then nothing answers there. */
export async function writeAddress(home: string, address: Address): Promise<AsyncDisposable> {
  const path = join(home, ADDRESS_FILE);
  await writeFile(path, `${JSON.stringify(address)}\n`, { mode: 0o600 });
  return { [Symbol.asyncDispose]: () => rm(path, { force: true }) };
}

export async function readAddress(home: string): Promise<Address | undefined> {
  const text = await readIfThere(join(home, ADDRESS_FILE));
  return text === undefined ? undefined : (JSON.parse(text) as Address);
}
