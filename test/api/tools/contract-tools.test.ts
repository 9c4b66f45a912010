import { expect, test } from 'vitest';
import { routeGroups } from '#api/app/routes.ts';
import { composedTools } from '#api/tools/composed.ts';
import { describingTools } from '#api/tools/describe.ts';
import { runCooperatively } from '#shared/concurrency/cooperative.ts';

/**
 * The tools of the contract with their inputs; `*` is required. Two inputs that the contract ignores are left out: `inputParams` of
 * create_workflow and `pipelineSteps` of listeners. A call that has them is answered, and told that they are not known.
 */
const contract: Record<string, string> = {
  get_tenant_resource_summary: '',
  search_resources: 'query* types',
  get_widget_schemas: 'widgetType',
  get_data_query_schemas: 'datasourceType',
  get_datasource_schemas: 'datasourceType',
  get_listener_schemas: 'datasourceType',
  get_workflow_schema: 'nodeType',
  get_app_page_schema: '',
  list_datasources: 'search page pageSize',
  list_queries: 'search page pageSize',
  list_listeners: 'search page pageSize',
  list_workflows: 'search page pageSize',
  list_widgets: 'search page pageSize',
  list_app_pages: 'search page pageSize',
  get_datasource: 'datasourceID*',
  get_datasource_schema: 'datasourceID*',
  delete_datasource: 'datasourceID*',
  get_datasource_sample_data: 'datasourceID* table* limit',
  test_datasource_connection: 'datasourceType* datasourceOptions*',
  create_datasource: 'datasourceTitle* datasourceType* datasourceOptions* datasourceTags',
  update_datasource: 'datasourceID* datasourceTitle datasourceType datasourceOptions datasourceTags',
  get_query: 'dataQueryID*',
  delete_query: 'dataQueryID*',
  create_query: 'dataQueryTitle* datasourceType datasourceID dataQueryOptions* runOnLoad',
  update_query: 'dataQueryID* dataQueryTitle datasourceType datasourceID dataQueryOptions runOnLoad',
  test_query: 'dataQueryID* inputValues',
  run_query: 'dataQueryID* inputValues',
  test_query_by_data: 'datasourceType dataQueryOptions* datasourceID inputValues',
  get_listener: 'listenerID*',
  delete_listener: 'listenerID*',
  activate_listener: 'listenerID*',
  deactivate_listener: 'listenerID*',
  create_listener: 'listenerTitle* listenerType datasourceID* listenerConfig',
  update_listener: 'listenerID* listenerTitle listenerConfig',
  get_workflow: 'workflowID*',
  delete_workflow: 'workflowID*',
  create_workflow: 'workflowTitle nodes edges workflowDescription',
  update_workflow: 'workflowID* workflowTitle workflowDescription nodes edges',
  execute_workflow: 'workflowID* inputValues',
  get_workflow_instance: 'instanceID*',
  get_widget: 'widgetID*',
  delete_widget: 'widgetID*',
  create_widget: 'widgetTitle* widgetType* widgetConfig*',
  update_widget: 'widgetID* widgetTitle widgetConfig',
  get_app_page: 'appPageID*',
  delete_app_page: 'appPageID*',
  get_app_page_preview_url: 'appPageID*',
  create_app_page: 'appPageTitle* appPageDescription appPageConfig*',
  update_app_page: 'appPageID* appPageTitle appPageDescription appPageConfig',
  list_tenant_members: '',
  list_tenant_roles: '',
  get_tenant_info: '',
};

const tools = [
  ...(await runCooperatively(describingTools(routeGroups))),
  ...composedTools({ oauth: { publicURL: 'https://gantry.example.com' } as never }),
];

test('the tools of the contract have their names and inputs', () => {
  const known = new Map(tools.map((tool) => [tool.name, tool.inputSchema]));
  const found = Object.entries(contract).map(([name, inputs]) => {
    const { properties = {}, required = [] } = known.get(name) ?? {};
    const words = inputs.split(' ').filter(Boolean);
    const has = words.filter((word) => properties[word.replace('*', '')]);
    const needed = required.map((field: string) => `${field}*`);
    return [name, { has, needed }];
  });
  const expected = Object.entries(contract).map(([name, inputs]) => {
    const words = inputs.split(' ').filter(Boolean);
    return [name, { has: words, needed: expect.toSatisfy((needed: string[]) => isSame(needed, words)) }];
  });

  expect(Object.fromEntries(found)).toEqual(Object.fromEntries(expected));
  expect(found).toHaveLength(52);
});

function isSame(needed: string[], words: string[]): boolean {
  return (
    needed.toSorted().join() ===
    words
      .filter((word) => word.endsWith('*'))
      .toSorted()
      .join()
  );
}

test('cron jobs, folders, bundles, the audit trail, runs and dead letters have tools beside those of the contract', () => {
  const names = tools.map(({ name }) => name);
  const more = [
    ...['create_cron_job', 'run_cron_job', 'create_folder', 'move_to_folder', 'export_bundle', 'plan_import'],
    ...['apply_import', 'list_audit_logs', 'list_workflow_instances', 'rerun_workflow_instance'],
    ...['stop_workflow_instance', 'list_listener_events', 'redrive_listener_event', 'redrive_listener_events'],
  ];
  expect(more.filter((name) => !names.includes(name))).toEqual([]);
});

test('each description says what a tool does, when to use it, and what it costs', () => {
  const unclear = tools.filter(({ description }) => {
    const [does = '', when = '', costs = ''] = description.split('\n\n');
    return !(does.length > 20 && /^(Use|Call) /.test(when) && costs.startsWith('Cost: '));
  });
  expect(unclear.map(({ name, description }) => ({ name, description }))).toEqual([]);
});
