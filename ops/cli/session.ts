import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Command } from 'commander';
import type { InputArguments, Item } from '../client/calls.ts';
import { createGantry, type Gantry, type ListName } from '../client/index.ts';
import { UsageError } from './exit.ts';
import { type Column, type Output, tableOf } from './output.ts';
import { type Profile, readProfiles } from './profiles.ts';

const DEFAULT_URL = 'http://127.0.0.1:8080';

export interface World extends Output {
  env: Record<string, string | undefined>;
  /** Reads a secret that is piped into the command, or typed unseen. */
  readSecret(question: string): Promise<string>;
}

interface GlobalOptions {
  profile?: string;
  url?: string;
  tenant?: string;
  json?: boolean;
}

/** The context of a command: who is signed in where, and how the result is shown. */
export interface Session extends World {
  gantry: Gantry;
  url: string;
  profileName: string;
  profile: Profile;
  isJSON: boolean;
  tenantID: string | undefined;
  /** The path of the tenant that is meant; throws if none is named. */
  readonly path: { tenantID: string };
  /** Shows an object: as JSON, or what `text` makes of it. */
  show<T>(value: T, text: (value: T) => string): void;
  /** Shows rows: as a JSON array, or as a table. */
  showRows<T>(rows: readonly T[], columns: readonly Column<T>[]): void;
  /** At most `limit` rows of a list. */
  list<N extends ListName>(limit: number, name: N, ...input: InputArguments<N>): Promise<Item<N>[]>;
}

/** An option of the command line wins over the environment, and that over the profile. */
export async function openSession(world: World, command: Command): Promise<Session> {
  const options = command.optsWithGlobals<GlobalOptions>();
  const { env } = world;
  const stored = await readProfiles(env);
  const profileName = options.profile || env.GANTRY_PROFILE || stored.current;
  const profile = stored.profiles[profileName] ?? { url: await localURL(env) };
  const url = addressOf(options.url || env.GANTRY_URL || profile.url);
  // Credentials that were stored for one service are not for another.
  const own = url === profile.url ? profile : undefined;
  const auth = credentialOf(env, own);
  const gantry = createGantry({ baseURL: url, ...(auth && { auth }) });
  const tenantID = options.tenant || env.GANTRY_TENANT || own?.tenantID;
  const isJSON = options.json === true;

  return {
    ...world,
    gantry,
    url,
    profileName,
    profile,
    isJSON,
    tenantID,
    get path() {
      if (!tenantID)
        throw new UsageError('Which tenant? Name it with --tenant, GANTRY_TENANT or: gantry tenants use <tenantID>');
      return { tenantID };
    },
    show(value, text) {
      world.line(isJSON ? JSON.stringify(value, null, 2) : text(value));
    },
    showRows(rows, columns) {
      world.line(isJSON ? JSON.stringify(rows, null, 2) : tableOf(rows, columns));
    },
    async list(limit, name, ...input) {
      const rows = [];
      for await (const row of gantry.pages(name, ...input)) if (rows.push(row) >= limit) break;
      return rows;
    },
  };
}

/** Where nothing else says it: the port in PORT, or that of the Gantry which runs in GANTRY_HOME, as the other commands take them. */
async function localURL({ PORT, GANTRY_HOME }: World['env']): Promise<string> {
  if (PORT) return `http://127.0.0.1:${PORT}`;
  const address = GANTRY_HOME ? await readFile(join(GANTRY_HOME, 'address'), 'utf8').catch(() => '') : '';
  return address === '' ? DEFAULT_URL : (JSON.parse(address) as { url: string }).url;
}

function addressOf(text: string): string {
  if (!URL.canParse(text) || !/^https?:$/.test(new URL(text).protocol))
    throw new UsageError(`--url: expected an address such as ${DEFAULT_URL}, received ${JSON.stringify(text)}`);
  return text.replace(/\/+$/, '');
}

function credentialOf(env: World['env'], profile: Profile | undefined) {
  if (env.GANTRY_API_KEY) return { apiKey: env.GANTRY_API_KEY };
  const token = env.GANTRY_TOKEN || (profile?.apiKey ? undefined : profile?.token);
  if (token) return { token };
  return profile?.apiKey ? { apiKey: profile.apiKey } : undefined;
}

const UUID = /^[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}$/i;

/** The id of an asset that is named by its id or its title. */
export async function findByTitle<T extends { title: string; id: string }>(
  word: string,
  { kind, find }: { kind: string; find: (search: string) => Promise<T[]> },
): Promise<string> {
  if (UUID.test(word)) return word;
  const found = (await find(word)).filter(({ title }) => title === word);
  const [first, second] = found;
  if (!first) throw new UsageError(`There is no ${kind} with the title ${JSON.stringify(word)}`);
  if (second) throw new UsageError(`${found.length} have the title ${JSON.stringify(word)}: name one by its id`);
  return first.id;
}
