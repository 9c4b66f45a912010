import { type AgentTool, type Call, isRefused, oneOf, rowsOf, success, text } from './define.ts';
import { readGuide } from './guides.ts';

/** Types of assets, each with the tool that reads one. */
const readers = {
  workflow: { tool: 'get_workflow', id: 'workflowID', field: 'workflow' },
  query: { tool: 'get_query', id: 'dataQueryID', field: 'dataQuery' },
  datasource: { tool: 'get_datasource', id: 'datasourceID', field: 'datasource' },
  listener: { tool: 'get_listener', id: 'listenerID', field: 'listener' },
  cronJob: { tool: 'get_cron_job', id: 'cronJobID', field: 'cronJob' },
  appPage: { tool: 'get_app_page', id: 'appPageID', field: 'appPage' },
  dashboard: { tool: 'get_dashboard', id: 'dashboardID', field: 'dashboard' },
  widget: { tool: 'get_widget', id: 'widgetID', field: 'widget' },
} as const;

const types = Object.keys(readers) as (keyof typeof readers)[];
const found = [...types, 'run'] as const;
const readable = [...types, 'guide'] as const;

const findAssets: AgentTool = {
  name: 'find_assets',
  title: 'Find assets',
  group: 'Tenants',
  uses: [...Object.values(readers).map(({ tool }) => tool), 'get_workflow_instance'],
  does: 'Find workflows, queries, datasources, pages and the other assets of the tenant, and runs, with their ids. Without `query` it counts the assets and lists the newest of each type.',
  when: 'Use it first, and wherever you need an id.',
  costs: 'low; it changes nothing.',
  effect: 'reads',
  input: {
    query: { type: 'string', description: 'A part of the title; of a run also its id or a tag' },
    types: { type: 'array', items: { type: 'string', enum: [...found] }, description: 'Default: all' },
    limit: { type: 'integer', minimum: 1, maximum: 20, description: 'Of each type. Default: 6' },
  },
  async run({ query, types: wanted, limit }, call) {
    if (query === undefined || query === '') return summarize(call);
    const chosen = wanted === undefined ? found : [wanted].flat().map((type) => oneOf('types', type, found));
    const most = typeof limit === 'number' ? limit : 6;
    const given = { q: text('query', query), limit: limit ?? most };
    const searched = chosen.map((type) => (type === 'query' ? 'dataQuery' : type)).join(',');
    const answer = await call('search_tenant', { ...given, ...(searched && { types: searched }) });
    if (isRefused(answer)) return answer;
    const results = rowsOf(answer.body, 'results').map((row) => ({
      ...row,
      type: row.type === 'dataQuery' ? 'query' : row.type,
    }));
    const next = results.length > 0 ? 'read_asset shows one, by its type and id' : 'Try a shorter part of the title';
    const ofTypes = [...Map.groupBy(results, ({ type }) => type).values()];
    const isFull = ofTypes.some((ofType) => ofType.length >= most);
    return success({ results }, [
      next,
      ...(isFull
        ? [`${most} of a type are shown, and there may be more: find_assets with a longer query or a higher limit`]
        : []),
    ]);
  },
};

async function summarize(call: Call) {
  const answer = await call('get_tenant_resource_summary', {});
  if (isRefused(answer)) return answer;
  const kinds = Object.entries(answer.body.resources as Record<string, { count: number; items: object[] }>);
  return success(
    {
      counts: Object.fromEntries(kinds.map(([kind, { count }]) => [kind, count])),
      newest: kinds.flatMap(([type, { items }]) => items.map((item) => ({ ...item, kind: undefined, type }))),
    },
    ['find_assets with `query` finds the others'],
  );
}

const readAsset: AgentTool = {
  name: 'read_asset',
  title: 'Read an asset',
  group: 'Tenants',
  uses: Object.values(readers).map(({ tool }) => tool),
  does: 'Read one asset whole, or a guide of the documentation. Workflows, queries and pages come in the form in which save_workflow, save_query and save_page take them.',
  when: 'Use it before you change or explain something.',
  costs: 'low; it changes nothing.',
  effect: 'reads',
  input: {
    type: { type: 'string', enum: [...readable] },
    id: { type: 'string', description: 'From find_assets; of a guide its name, such as workflows' },
    offset: { type: 'integer', minimum: 0, description: 'Where to read on, in characters' },
  },
  required: ['type', 'id'],
  async run({ type, id }, call) {
    const chosen = oneOf('type', type, readable);
    if (chosen === 'guide') return success({ guide: await readGuide(text('id', id)) });
    const { tool, id: argument, field } = readers[chosen];
    const answer = await call(tool, { [argument]: id });
    return isRefused(answer) ? answer : success(definitions[chosen](answer.body[field] as Fields));
  },
};

type Fields = Record<string, unknown>;

/** Fields that say nothing about what an asset does, or say it twice. */
const noise = new Set(['tenantID', 'creatorID', 'createdByApiKeyID', 'creator', 'createdAt', 'folderID']);

function others(asset: Fields): Fields {
  return Object.fromEntries(Object.entries(asset).filter(([name, value]) => !noise.has(name) && value !== null));
}

const asIs = (asset: Fields) => others(asset);

const definitions: Readonly<Record<keyof typeof readers, (asset: Fields) => Fields>> = {
  workflow: (asset) => ({
    ...{ workflowID: asset.id, title: asset.title, description: asset.workflowDescription },
    ...{ versionNumber: asset.versionNumber, isPublished: asset.publishedVersionID === asset.versionID },
    ...(asset.isDisabled === true && { isDisabled: true }),
    ...(asset.pausedAt !== null && { pausedAt: asset.pausedAt }),
    ...{ nodes: asset.workflowNodes, edges: asset.workflowEdges, options: asset.workflowOptions },
  }),
  query: (asset) => ({
    ...{ dataQueryID: asset.id, title: asset.dataQueryTitle, description: asset.dataQueryDescription },
    ...{ datasourceID: asset.datasourceID, datasourceType: asset.datasourceType, options: asset.dataQueryOptions },
    ...(asset.isDisabled === true && { isDisabled: true }),
  }),
  appPage: (asset) => ({
    ...{ appPageID: asset.id, title: asset.appPageTitle, description: asset.appPageDescription },
    ...{ isDraft: asset.isDraft, versionNumber: asset.versionNumber, config: asset.appPageConfig },
  }),
  ...{ datasource: asIs, listener: asIs, cronJob: asIs, dashboard: asIs, widget: asIs },
};

export const findTools: readonly AgentTool[] = [findAssets, readAsset];
