import type { AppScope } from '../auth/app-scopes.ts';
import type { ToolDefinition } from './tool.ts';

type Tool = Pick<ToolDefinition, 'name' | 'group'>;

/** The tools that a client of models gets by default: few, for the tasks that most agents have. All others are found by these. */
export const defaultTools: readonly string[] = [
  ...['find_assets', 'read_asset', 'get_overview'],
  ...['run_workflow', 'run_query', 'list_runs', 'get_run', 'list_failures', 'rerun_run', 'stop_workflow_instance'],
  ...['describe_tables', 'list_rows', 'change_rows', 'get_datasource_schema', 'try_query'],
  ...['get_form', 'save_workflow', 'save_query', 'save_page', 'search_docs'],
];

/** Tools of every list but that of all tools. */
export const commonTools: readonly string[] = ['find_assets', 'read_asset', 'search_docs'];

interface Toolset {
  describes: string;
  has(tool: Tool): boolean;
}

const ofRuns = /instance|run|batch|deliver|collection|event|execute|map_chunks|accounting|failures/;

function inGroups(...groups: string[]): (tool: Tool) => boolean {
  return ({ group }) => groups.includes(group);
}

const isOfWorkflows = inGroups('Workflows');

/** Parts of the list of all tools, by the work for which they are. Each is a scope of apps. */
export const toolsets: Readonly<Record<string, Toolset>> = {
  runs: {
    describes: 'run workflows, follow and repeat runs',
    has: (tool) => isOfWorkflows(tool) && ofRuns.test(tool.name),
  },
  build: {
    describes: 'make workflows',
    has: (tool) => isOfWorkflows(tool) && !ofRuns.test(tool.name),
  },
  data: {
    describes: 'datasources, queries, tables and rows',
    has: inGroups('Database', 'Datasources', 'Data queries'),
  },
  pages: {
    describes: 'app pages, widgets, dashboards',
    has: inGroups('App pages', 'Widgets', 'Dashboards'),
  },
  triggers: {
    describes: 'listeners and cron jobs',
    has: inGroups('Listeners', 'Cron jobs'),
  },
  move: {
    describes: 'folders, export and import',
    has: inGroups('Folders', 'Bundles'),
  },
  admin: {
    describes: 'members, roles, keys, variables, settings, audit trail',
    has: inGroups('Tenants', 'Users', 'Roles', 'API keys', 'Variables', 'OAuth', 'AI', 'Audit'),
  },
} satisfies Record<AppScope, Toolset>;
