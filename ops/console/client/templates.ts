import { queryOptions } from '@tanstack/react-query';
import { type ChosenDatasource, numbered, replaced, withDatasources, withNumber } from '#ops/samples/prepare.ts';
import type { SampleItem } from '#ops/samples/read.ts';
import { applyImport, type Bundle, type Plan, planImport } from './bundles.ts';
import { executeSQL } from './database.ts';
import type { Installed } from './installed.ts';
import { newID } from './new-id.ts';
import { body, rest } from './rest.ts';
import { readFiles, uploadFile } from './sources.ts';
import { mainWorkflow, type Template, tablesIn, titlesByID } from './template.ts';

export const templatesRead = queryOptions({
  queryKey: ['templates'],
  queryFn: async () => {
    const answer = await fetch('/console/samples/index.json');
    if (!answer.ok) throw new Error(`The templates could not be read: the server answered ${answer.status}`);
    return (await answer.json()) as Template[];
  },
  staleTime: Number.POSITIVE_INFINITY,
});

export interface Choices {
  /** Datasources by the names of needs. */
  datasources: Readonly<Record<string, ChosenDatasource>>;
  secrets: Readonly<Record<string, string>>;
  /** Whether cron jobs begin at once. */
  isScheduled: boolean;
}

/** A template as it would be installed in a tenant: the first, or one more beside those that are there. */
export interface Prepared {
  template: Template;
  number: number;
}

/** The state of a template in a tenant. */
export interface Presence {
  next: Prepared;
  /** The plan of bringing the first one up to the template; undefined unless it is there. */
  update: { bundle: Bundle; plan: Plan } | undefined;
}

/** The main workflow of a template in the tenant, and its page, if it is one of a page. */
interface Opened {
  workflowID: string;
  appPageID: string | undefined;
}

/** Answers what a further installation would be, which takes no title of another workflow. */
export function presenceRead(tenantID: string, template: Template, datasources: Choices['datasources']) {
  return queryOptions({
    queryKey: ['workflows', tenantID, 'template', template.name, datasources],
    queryFn: async (): Promise<Presence> => {
      const { title } = mainWorkflow(template).payload;
      const query = { search: title, fields: 'summary', limit: 100 } as const;
      const params = { path: { tenantID }, query };
      const { workflows } = await body(rest.GET('/api/v1/tenants/{tenantID}/workflows', { params }));
      const taken = new Set(workflows.map((one) => one.title));
      const update = await planOfUpdate(tenantID, template, datasources);
      let number = 1;
      while (taken.has(withNumber(title, number)) || (number === 1 && update)) number += 1;
      return { next: { template: number === 1 ? template : numbered(template, number, newID), number }, update };
    },
    staleTime: 10_000,
  });
}

/** The tenant may have changed the others, such as the address of a service, and keeps them; they are found by their keys. */
const updated: ReadonlySet<SampleItem['type']> = new Set(['dataQuery', 'workflow', 'widget', 'appPage']);

/** Undefined unless the workflow is there by the key of the template. */
async function planOfUpdate(
  tenantID: string,
  template: Template,
  datasources: Choices['datasources'],
): Promise<Presence['update']> {
  const items = itemsOf(template, datasources).flatMap((item) => (updated.has(item.type) ? bundled(item, true) : []));
  const bundle: Bundle = { bundleVersion: 1, generator: 'gantry', items };
  const plan = await planImport(tenantID, { bundle, onConflict: 'overwrite', secrets: [] });
  const { id } = mainWorkflow(template);
  const isHere = plan.items.some((item) => item.id === id && item.assetID !== null);
  return isHere ? { bundle, plan } : undefined;
}

export async function updateInstalled(
  tenantID: string,
  template: Template,
  update: NonNullable<Presence['update']>,
): Promise<Opened> {
  const { bundle, plan } = update;
  const wanted = { bundle, onConflict: 'overwrite' as const, secrets: [] };
  await applyImport(tenantID, { ...wanted, token: plan.token });
  const idOf = (key: string | undefined) => plan.items.find(({ id }) => id === key)?.assetID ?? undefined;
  const workflowID = idOf(mainWorkflow(template).id);
  if (!workflowID) throw new Error('The workflow is not here any more');
  return { workflowID, appPageID: idOf(template.page) };
}

/** Installs a template, and answers with what is opened then and all that came. A variable that is there keeps its value. */
export async function installTemplate(
  tenantID: string,
  template: Template,
  choices: Choices,
): Promise<Opened & { installed: Installed }> {
  for (const sql of template.setup) await executeSQL(tenantID, sql);
  const items = itemsOf(template, choices.datasources);
  const files = await uploadFiles(tenantID, items);
  const others = items.flatMap((item) => bundled(item, choices.isScheduled));
  const bundle: Bundle = {
    ...{ bundleVersion: 1, generator: 'gantry' },
    items: [...variablesOf(template), ...replaced(others, files)],
  };
  const secrets = template.needs.flatMap((need) =>
    need.kind === 'secret' ? [{ id: need.id, path: need.path, value: choices.secrets[need.name] ?? '' }] : [],
  );
  const wanted = { bundle, onConflict: 'skip' as const, secrets };
  const { token } = await planImport(tenantID, wanted);
  const { results, skipped } = await applyImport(tenantID, { ...wanted, token });
  const { id } = mainWorkflow(template);
  const workflow = results.find(({ originalID }) => originalID === id);
  if (!workflow) throw new Error(skipped[0]?.reason ?? `The workflow of ${template.title} was not installed`);
  const titles = new Map<string, unknown>([
    ...titlesByID(template),
    ...variablesOf(template).map(({ id, payload }): [string, unknown] => [id, payload.name]),
  ]);
  const assets = results.map(({ type, originalID, newID }) => {
    return { type, id: newID, title: String(titles.get(originalID) ?? '') };
  });
  return {
    workflowID: workflow.newID,
    appPageID: results.find(({ originalID }) => originalID === template.page)?.newID,
    installed: { template: template.title, assets, tables: tablesIn(template) },
  };
}

/** With the datasources that are chosen so far. */
function itemsOf(template: Template, datasources: Choices['datasources']): readonly SampleItem[] {
  const isChosen = template.needs.every((need) => need.kind !== 'datasource' || datasources[need.name]);
  return isChosen ? withDatasources(template, datasources) : template.items;
}

type Bundled = Bundle['items'][number];

/** Nothing for a file, which no bundle has. */
function bundled(item: SampleItem, isScheduled: boolean): Bundled[] {
  if (item.type === 'file') return [];
  const { type, id, dependencies } = item;
  const payload = type === 'cronJob' ? { ...item.payload, cronJobEnabled: isScheduled } : item.payload;
  const named = dependencies.filter((one) => one.type !== 'file');
  return [{ type, id, payload: payload as Bundled['payload'], dependencies: named }];
}

/** A file names them beside its items. Their keys follow from that of the first item. */
function variablesOf({ variables, items }: Template): Bundled[] {
  const first = items[0]?.id ?? '';
  return variables.map((payload, at) => ({ type: 'variable', id: `${first.slice(0, -2)}${90 + at}`, payload }));
}

/** Uploads the files that are not there. Answers with the ids of all, by their keys. */
async function uploadFiles(tenantID: string, items: readonly SampleItem[]): Promise<ReadonlyMap<string, string>> {
  const files = items.filter((item) => item.type === 'file');
  const stored = files.length > 0 ? await readFiles(tenantID) : [];
  const ids = new Map<string, string>();
  for (const { id, payload } of files) {
    const file = new File([payload.content], payload.fileName);
    const known = stored.find(({ fileName, fileSize }) => fileName === file.name && fileSize === file.size);
    ids.set(id, (known ?? (await uploadFile(tenantID, file))).fileID);
  }
  return ids;
}
