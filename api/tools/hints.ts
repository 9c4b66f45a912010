import { toolNameOf } from './names.ts';
import type { TenantRoute } from './tool.ts';

/** Says when to use a tool. For a tool that is not in `hints`, the text follows from the method of the route. */
export function usageOf(route: TenantRoute): string {
  const hint = hints[toolNameOf(route.name)];
  if (hint) return hint;
  if (/^(list|get)/.test(route.name) || route.method === 'get')
    return `Use it to look before you change: ${lower(route.summary)}.`;
  if (route.method === 'delete')
    return 'Use it only if the user has asked for exactly this; say first what will be deleted.';
  if (route.method === 'patch' || route.method === 'put')
    return 'Use it to change something that exists. Read it first, and send only the fields that you change.';
  return `Use it when the user wants to ${lower(route.summary)}.`;
}

function lower(text: string): string {
  return text.charAt(0).toLowerCase() + text.slice(1);
}

const hints: Readonly<Record<string, string>> = {
  get_tenant_info: 'Use it first, to learn in which tenant you work and who you are there.',
  get_datasource_schemas:
    'Use it before create_datasource: it says which options each type has. Name a datasourceType to get one form only.',
  get_data_query_schemas:
    'Use it before create_query: it says what dataQueryOptions holds for a datasourceType. Name the type to get one form only.',
  get_workflow_schema:
    'Use it before create_workflow or update_workflow: it has the configuration of each node. Name a nodeType; the whole answer is long.',
  get_widget_schemas: 'Use it before create_widget. Name a widgetType to get one form only.',
  get_listener_schemas: 'Use it before create_listener. Name a datasourceType to get one form only.',
  get_app_page_schema: 'Use it before create_app_page: it is the form of appPageConfig.',
  get_datasource_schema:
    'Use it before you write a query: it lists tables and columns of the datasource. `path` goes deeper into one of them.',
  test_datasource_connection:
    'Use it before create_datasource, with the same options, and show the user the error if it fails.',
  create_datasource:
    'Use it after test_datasource_connection has succeeded. Secrets are stored sealed and never shown again.',
  create_query:
    'Use it after test_query_by_data has shown the right rows. Write values as {{inputs.name}}; they are bound, never pasted.',
  test_query:
    'Use it to see what a stored query answers without a place in its history. The statement is really executed: an INSERT inserts.',
  test_query_by_data: 'Use it to try a query before it is stored. The statement is really executed: an INSERT inserts.',
  run_query:
    'Use it to get the rows of a stored query. `fresh` goes past the cache; `cursor` reads on without running it again.',
  create_workflow:
    'Use it after get_workflow_schema and plan_workflow. The graph begins at a node `start` and ends at nodes `end`.',
  generate_workflow:
    'Use it to have another model write a graph from a sentence; you write one yourself with get_workflow_schema.',
  update_workflow:
    'Use it with the whole graph that shall be there; read it with get_workflow first. The version before stays and can be restored.',
  plan_workflow: 'Use it to see which way a run would take with given inputs. No node is executed.',
  check_workflow: 'Use it to find the faults of a graph before it is saved. Nothing is stored or executed.',
  test_workflow: 'Use it to execute a graph that is not stored. Its nodes really act.',
  execute_workflow:
    'Use it to start a stored workflow. Its `args` are the inputs that the workflow declares: `workflowOptions.inputDefinitions` of get_workflow has the name and type of each. The answer is a handle, `instanceID`, at once; `wait` holds it up to 60 seconds for the result. A call with a progress token reports every node, and answers when the run ends or after a minute. Cancelling the call does not stop the run: stop_workflow_instance does. Afterwards ask get_workflow_instance.',
  get_workflow_instance:
    'Use it to follow a run: status, input, output, error, and what each node did. Ask again until the status is COMPLETED, FAILED or CANCELLED.',
  get_workflow_instance_logs: 'Use it to find out why a run failed, after get_workflow_instance has named the node.',
  get_workflow_step_input:
    'Use it to see the values that a node of a run worked with, after get_workflow_instance has named the node.',
  rerun_workflow_instance:
    'Use it to repeat a run, from its beginning or from a node, for example after update_workflow has mended what failed.',
  rerun_workflow_instances:
    'Use it to repeat many failed runs at once. List them with list_workflow_instances first and tell the user how many.',
  stop_workflow_instance: 'Use it to cancel one run. What its nodes have done stays done.',
  stop_workflow_instances: 'Use it to cancel many runs at once. List them first and tell the user how many.',
  list_workflow_instances: 'Use it to find runs: filter by status FAILED to see what needs help.',
  list_listener_events:
    'Use it to read dead letters: filter by state `dead`. redrive_listener_event sends one on its way again.',
  redrive_listener_event: 'Use it to process a dead letter again, once its cause is mended.',
  redrive_listener_events:
    'Use it to process all dead letters of a listener again. Count them first with count_listener_events.',
  purge_listener_events: 'Use it only if the user wants events thrown away; they cannot be brought back.',
  execute_raw_sql:
    "Use it for one statement in the tenant's own database that no other tool can do. Ask the user before anything that is no SELECT.",
  list_audit_logs: 'Use it to answer who did what and when. Narrow it by time and kind: the trail is long.',
  plan_import:
    'Use it before apply_import: it says what would be created, changed and left alone, and gives the token that apply_import takes.',
  apply_import: 'Use it with the token of plan_import, after the user has seen the plan.',
  roll_back_import: 'Use it to undo an import: list_imports names them.',
  run_cron_job: 'Use it to run a job now, beside its schedule.',
  create_cron_job: 'Use it after preview_cron_schedule has shown the times to the user.',
  move_to_folder: 'Use it to file assets; folderID null takes them out of their folder.',
};
