import { chmod, mkdir, readFile, rename, writeFile } from 'node:fs/promises';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { UsageError } from './exit.ts';

export interface Profile {
  url: string;
  apiKey?: string;
  token?: string;
  tenantID?: string;
}

export interface Profiles {
  current: string;
  profiles: Record<string, Profile>;
}

type Environment = Record<string, string | undefined>;

export async function readProfiles(env: Environment): Promise<Profiles> {
  const path = fileOf(env);
  try {
    return JSON.parse(await readFile(path, 'utf8')) as Profiles;
  } catch (error) {
    if ((error as { code?: string }).code === 'ENOENT') return { current: 'default', profiles: {} };
    if (error instanceof SyntaxError)
      throw new UsageError(`${path} is no JSON: correct it, or delete it and sign in again`);
    throw error;
  }
}

/** Writes by a rename, so that a file with secrets is whole, and is never readable for others. */
export async function saveProfile(env: Environment, name: string, profile: Profile | undefined): Promise<string> {
  const path = fileOf(env);
  const { profiles } = await readProfiles(env);
  const others = Object.entries(profiles).filter(([key]) => key !== name);
  const changed: Profiles = {
    current: name,
    profiles: Object.fromEntries(profile ? [...others, [name, profile]] : others),
  };
  const dir = join(path, '..');
  await mkdir(dir, { recursive: true, mode: 0o700 });
  const draft = `${path}.${process.pid}`;
  await writeFile(draft, `${JSON.stringify(changed, null, 2)}\n`, { mode: 0o600 });
  await chmod(draft, 0o600);
  await rename(draft, path);
  return path;
}

function fileOf(env: Environment): string {
  return join(env.XDG_CONFIG_HOME || join(env.HOME || homedir(), '.config'), 'gantry', 'profiles.json');
}
