import { randomBytes } from 'node:crypto';
import type { Json, JsonObject } from '#shared/core/json.ts';
import type { Call } from './call.ts';
import { type ChosenDatasource, replaced, withDatasources } from './prepare.ts';
import type { Sample, SampleItem } from './read.ts';

export interface Installation {
  tenantID: string;
  /** Values of variables by name, in place of those in the file. */
  values?: Readonly<Record<string, Json>>;
  /** Datasources by the names of needs of the sample. */
  datasources?: Readonly<Record<string, ChosenDatasource>>;
  /** Secrets by the names of needs; others are made. */
  secrets?: Readonly<Record<string, string>>;
}

export interface Installed {
  /** The ids that the items have in the tenant, by their keys in the file. */
  ids: ReadonlyMap<string, string>;
  /** The secrets of what was created, by the names of needs. */
  secrets: Readonly<Record<string, string>>;
}

/**
 * Installs a sample through the public API. An asset of the same title is updated, so that a repeated or interrupted installation
 * leaves each asset once. Datasources, cron jobs, listeners and values of variables that the tenant has already stay as they are.
 */
export async function installSample(
  call: Call,
  sample: Sample,
  { tenantID, values = {}, datasources = {}, secrets: given = {} }: Installation,
): Promise<Installed> {
  const base = `/api/v1/tenants/${tenantID}`;
  const items = withDatasources(sample, datasources);
  await installVariables(call, sample, { base, values });
  for (const sql of sample.setup) await call('POST', `${base}/database/execute-raw-sql`, { sql });
  const ids = new Map<string, string>();
  const secrets: Record<string, string> = {};
  for (const item of items) {
    const { type, payload } = item;
    const needed = sample.needs.flatMap((need) => (need.kind === 'secret' && need.id === item.id ? need : []));
    const own = Object.fromEntries(needed.map(({ name }) => [name, given[name] ?? newSecret()]));
    const complete = needed.reduce(
      (whole, { path, name }) => withValueAt(whole, path, own[name] ?? ''),
      replaced(payload, ids),
    );
    const { id, isNew } = await installItem(call, base, { ...item, type, payload: complete } as SampleItem);
    ids.set(item.id, id);
    // A datasource that was there has kept its own.
    if (isNew) Object.assign(secrets, own);
  }
  return { ids, secrets };
}

function newSecret(): string {
  return randomBytes(24).toString('base64url');
}

function withValueAt<T extends object>(value: T, [key = '', ...rest]: readonly string[], text: string): T {
  const inner = Reflect.get(value, key) as object;
  return { ...value, [key]: rest.length === 0 ? text : withValueAt(inner, rest, text) };
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
  widget: { path: 'widgets', many: 'widgets', one: 'widget', title: 'widgetTitle' },
  appPage: { path: 'app-pages', many: 'appPages', one: 'appPage', title: 'appPageTitle' },
};

async function installItem(
  call: Call,
  base: string,
  { type, payload }: SampleItem,
): Promise<{ id: string; isNew: boolean }> {
  if (type === 'file') return { id: await installFile(call, base, payload), isNew: false };
  const { path, many, one, title, isReused = false } = kinds[type];
  const wanted = (payload as JsonObject)[title];
  const page = await call<Record<string, Named[]>>('GET', search(`${base}/${path}`, String(wanted)));
  const known = page[many]?.find((asset) => asset[title] === wanted);
  if (known && isReused) return { id: known.id, isNew: false };
  const [method, at] = known
    ? (['PATCH', `${base}/${path}/${known.id}`] as const)
    : (['POST', `${base}/${path}`] as const);
  return { id: required(await call<Record<string, Named>>(method, at, payload), one), isNew: !known };
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
