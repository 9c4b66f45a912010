import type { Tool } from './registry.ts';

/** The tools that a client of models gets by default: few, for the tasks that most agents have. All others are found by these. */
export const defaultTools: readonly string[] = [
  ...['find_assets', 'read_asset', 'get_overview'],
  ...['run_workflow', 'run_query', 'list_runs', 'get_run', 'list_failures', 'rerun_run', 'stop_workflow_instance'],
  ...['describe_tables', 'list_rows', 'change_rows', 'get_datasource_schema', 'try_query'],
  ...['get_form', 'save_workflow', 'save_query', 'save_page', 'search_docs'],
];

/** Tools of every list but that of all tools. */
export const commonTools: readonly string[] = ['find_assets', 'read_asset', 'search_docs'];

export interface Toolset {
  describes: string;
  /** What an app may do with it, as its user is asked. */
  allows: string;
  has(tool: Tool): boolean;
}

const ofRuns = /instance|run|batch|deliver|collection|event|execute|map_chunks|accounting|failures/;

function inGroups(...groups: string[]): (tool: Tool) => boolean {
  return ({ group }) => groups.includes(group);
}

const isOfWorkflows = inGroups('Workflows');

/** Parts of the list of all tools, by the work for which they are. */
export const toolsets: Readonly<Record<string, Toolset>> = {
  runs: {
    describes: 'run workflows, follow and repeat runs',
    allows: 'Run workflows, and see, repeat and stop runs',
    has: (tool) => isOfWorkflows(tool) && ofRuns.test(tool.name),
  },
  build: {
    describes: 'make workflows',
    allows: 'See, make, change, publish and delete workflows',
    has: (tool) => isOfWorkflows(tool) && !ofRuns.test(tool.name),
  },
  data: {
    describes: 'datasources, queries, tables and rows',
    allows: 'Read and change data: datasources, queries, tables and their rows',
    has: inGroups('Database', 'Datasources', 'Data queries'),
  },
  pages: {
    describes: 'app pages, widgets, dashboards',
    allows: 'See, make, change and delete app pages, widgets and dashboards',
    has: inGroups('App pages', 'Widgets', 'Dashboards'),
  },
  triggers: {
    describes: 'listeners and cron jobs',
    allows: 'See, make, change and delete listeners and cron jobs, which start workflows by themselves',
    has: inGroups('Listeners', 'Cron jobs'),
  },
  move: {
    describes: 'folders, export and import',
    allows: 'Export and import assets, and arrange folders',
    has: inGroups('Folders', 'Bundles'),
  },
  admin: {
    describes: 'members, roles, keys, variables, settings, audit trail',
    allows: 'Administer the tenant: members, roles, API keys, variables, settings and the audit trail',
    has: inGroups('Tenants', 'Users', 'Roles', 'API keys', 'Variables', 'OAuth', 'AI', 'Audit'),
  },
};
