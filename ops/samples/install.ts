import type { Json, JsonObject } from '#shared/core/json.ts';
import type { Call } from './call.ts';
import type { Sample, SampleItem } from './read.ts';

export interface Installation {
  tenantID: string;
  /** Values of variables by name, in place of those in the file. */
  values?: Readonly<Record<string, Json>>;
}

/**
 * Installs a sample through the public API. Answers with the ids that its items have in the tenant, by their keys in the file. An asset
 * of the same title is updated, so that a repeated or interrupted installation leaves each asset once. Datasources, cron jobs, listeners
 * and values of variables that the tenant has already stay as they are.
 */
export async function installSample(
  call: Call,
  sample: Sample,
  { tenantID, values = {} }: Installation,
): Promise<ReadonlyMap<string, string>> {
  const base = `/api/v1/tenants/${tenantID}`;
  await installVariables(call, sample, { base, values });
  for (const sql of sample.setup) await call('POST', `${base}/database/execute-raw-sql`, { sql });
  const ids = new Map<string, string>();
  for (const item of sample.items) {
    const { type, payload } = item;
    const own = withIDs(payload, ids);
    ids.set(item.id, await installItem(call, base, { ...item, type, payload: own } as SampleItem));
  }
  return ids;
}

/** Replaces keys of the file by the ids of the tenant, wherever they stand. */
export function withIDs<T extends object>(payload: T, ids: ReadonlyMap<string, string>): T {
  let text = JSON.stringify(payload);
  for (const [key, id] of ids) text = text.replaceAll(key, id);
  // Only texts within it have changed.
  return JSON.parse(text) as T;
}

interface Named {
  id: string;
  [field: string]: unknown;
}

async function installVariables(
  call: Call,
  { name, variables }: Sample,
  { base, values }: { base: string; values: Readonly<Record<string, Json>> },
): Promise<void> {
  const stored = await Promise.all(
    variables.map(async (variable) => {
      const { variables: found } = await call<{ variables: Named[] }>(
        'GET',
        search(`${base}/variables`, variable.name),
      );
      return found.find((one) => one.name === variable.name);
    }),
  );
  const isMissing = (variable: Sample['variables'][number], at: number) =>
    variable.isSecret && values[variable.name] === undefined && !stored[at];
  const missing = variables.filter(isMissing);
  if (missing.length > 0) {
    const named = missing.map((variable) => `${variable.name} (${variable.description})`).join(', ');
    throw new Error(`The sample ${name} needs a value for the secret ${named}`);
  }
  for (const [at, variable] of variables.entries()) {
    const { name: key, isSecret, description } = variable;
    const known = stored[at];
    const given = values[key];
    if (!known) {
      const value = given ?? (variable.isSecret ? null : variable.value);
      await call('POST', `${base}/variables`, { name: key, isSecret, description, value });
    } else if (given !== undefined) await call('PATCH', `${base}/variables/${known.id}`, { value: given });
  }
}

interface Kind {
  path: string;
  /** The names of a page, of one asset and of its title in answers. */
  many: string;
  one: string;
  title: string;
  /** An asset with this title stays as it is. */
  isReused?: boolean;
}

const kinds: Record<Exclude<SampleItem['type'], 'file'>, Kind> = {
  // A tenant replaces the file or the server of a sample by its own.
  datasource: {
    path: 'datasources',
    many: 'datasources',
    one: 'datasource',
    title: 'datasourceTitle',
    isReused: true,
  },
  dataQuery: { path: 'queries', many: 'dataQueries', one: 'dataQuery', title: 'dataQueryTitle' },
  workflow: { path: 'workflows', many: 'workflows', one: 'workflow', title: 'title' },
  // A tenant chooses another time, or switches it off.
  cronJob: { path: 'cronjobs', many: 'cronJobs', one: 'cronJob', title: 'cronJobTitle', isReused: true },
  // A tenant gives it other actions, or deactivates it.
  listener: { path: 'listeners', many: 'listeners', one: 'listener', title: 'listenerTitle', isReused: true },
};

async function installItem(call: Call, base: string, { type, payload }: SampleItem): Promise<string> {
  if (type === 'file') return installFile(call, base, payload);
  const { path, many, one, title, isReused = false } = kinds[type];
  const wanted = (payload as JsonObject)[title];
  const page = await call<Record<string, Named[]>>('GET', search(`${base}/${path}`, String(wanted)));
  const known = page[many]?.find((asset) => asset[title] === wanted);
  if (known && isReused) return known.id;
  if (!known) return required(await call<Record<string, Named>>('POST', `${base}/${path}`, payload), one);
  return required(await call<Record<string, Named>>('PATCH', `${base}/${path}/${known.id}`, payload), one);
}

/** A file never changes: one of the same name and size is the same. */
async function installFile(
  call: Call,
  base: string,
  { fileName, content }: { fileName: string; content: string },
): Promise<string> {
  const { files } = await call<{ files: { fileID: string; fileName: string; fileSize: number }[] }>(
    'GET',
    `${base}/datasources/files`,
  );
  const fileSize = Buffer.byteLength(content);
  const known = files.find((file) => file.fileName === fileName && file.fileSize === fileSize);
  if (known) return known.fileID;
  const form = new FormData();
  form.append('file', new Blob([content]), fileName);
  return (await call<{ fileID: string }>('POST', `${base}/datasources/upload`, form)).fileID;
}

function search(path: string, text: string): string {
  return `${path}?search=${encodeURIComponent(text)}`;
}

function required(answer: Record<string, Named>, name: string): string {
  const asset = answer[name];
  if (!asset) throw new Error(`The answer has no ${name}`);
  return asset.id;
}
