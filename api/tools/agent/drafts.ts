import type { ToolArguments, ToolResult } from '../tool.ts';
import {
  type AgentTool,
  inOwnNames,
  isRefused,
  oneOf,
  ownNames,
  pick,
  renamed,
  rowsOf,
  success,
  text,
} from './define.ts';

/** Forms, each with the tool that answers with it, and the argument that names one type. */
const forms = {
  step: { tool: 'get_workflow_schema', argument: 'nodeType' },
  query: { tool: 'get_data_query_schemas', argument: 'datasourceType' },
  datasource: { tool: 'get_datasource_schemas', argument: 'datasourceType' },
  listener: { tool: 'get_listener_schemas', argument: 'datasourceType' },
  widget: { tool: 'get_widget_schemas', argument: 'widgetType' },
  appPage: { tool: 'get_app_page_schema', argument: null },
} as const;

const formNames = Object.keys(forms) as (keyof typeof forms)[];

const getForm: AgentTool = {
  name: 'get_form',
  title: 'Get a form',
  group: 'Workflows',
  uses: Object.values(forms).map(({ tool }) => tool),
  does: 'Get the JSON Schema of the settings of a step of a workflow, of a query, datasource, listener, widget or page. Without `type` it lists the types.',
  when: 'Use it before you write a definition.',
  costs: 'low; it changes nothing.',
  effect: 'reads',
  input: {
    of: { type: 'string', enum: formNames },
    type: { type: 'string', description: 'Such as http for a step, or postgresql for a query' },
    offset: { type: 'integer', minimum: 0, description: 'Where to read on, in characters' },
  },
  required: ['of'],
  async run({ of, type }, call) {
    const { tool, argument } = forms[oneOf('of', of, formNames)];
    if (argument === null) return formIn(await call(tool, {}));
    if (type === undefined) return typesIn(await call(tool, {}), String(of));
    return formIn(await call(tool, { [argument]: type }), String(type));
  },
};

function typesIn(answer: ToolResult, of: string): ToolResult {
  if (isRefused(answer)) return answer;
  const types = Object.entries(answer.body.schemas as Record<string, Record<string, unknown>>).map(([type, form]) => ({
    type,
    label: form.label ?? form.title ?? type,
    ...pick(form, ['category', 'usualExit']),
  }));
  return success({ types }, [`get_form with of \`${of}\` and one of these types shows its form`]);
}

/** A form without what is only for drawing it. */
function formIn(answer: ToolResult, type?: string): ToolResult {
  if (isRefused(answer)) return answer;
  const schemas = answer.body.schemas as Record<string, Record<string, unknown>>;
  const form = (type === undefined ? schemas : (schemas[type] ?? Object.values(schemas)[0])) ?? {};
  const { uischema: _drawing, ...shown } = form;
  return success(shown);
}

const publish = {
  type: 'boolean',
  description:
    'Default: false, a draft that does not run. True: it runs from now on, which the user should have agreed to',
};

const workflowNames = {
  ...{ title: 'workflowTitle', description: 'workflowDescription', nodes: 'workflowNodes' },
  ...{ edges: 'workflowEdges', options: 'workflowOptions' },
};

const saveWorkflow: AgentTool = {
  name: 'save_workflow',
  title: 'Save a workflow',
  group: 'Workflows',
  uses: ['create_workflow', 'update_workflow'],
  does: 'Make a workflow, or change one by its whole definition, as a draft or published. Answers with the problems of the graph, each with its step and field.',
  when: 'Use it after read_asset and get_form. Steps that are left out are removed; save again until there is no problem.',
  costs: 'low; the version before stays.',
  effect: 'changes',
  input: {
    workflowID: { type: 'string', description: 'The workflow to change. Absent: a new one' },
    title: { type: 'string' },
    description: { type: 'string' },
    nodes: {
      type: 'array',
      items: {
        type: 'object',
        properties: {
          id: { type: 'string' },
          type: { type: 'string', description: 'Of get_form with of `step`' },
          data: { type: 'object', description: 'The settings, by the form of the type' },
        },
        required: ['id', 'type'],
      },
      description: 'One of them has the type `start`',
    },
    edges: {
      type: 'array',
      items: {
        type: 'object',
        properties: {
          id: { type: 'string' },
          source: { type: 'string' },
          target: { type: 'string' },
          sourceHandle: { type: 'string', description: 'The exit, if not the usual one' },
        },
        required: ['id', 'source', 'target'],
      },
    },
    options: { type: 'object', description: 'Such as inputDefinitions, onFailure; as read_asset shows them' },
    publish,
  },
  required: ['nodes', 'edges'],
  async run(args, call) {
    const { workflowID, nodes, edges, options } = args;
    const graph = { workflowNodes: nodes, workflowEdges: edges };
    const checked = await call('check_workflow', {
      ...graph,
      ...(workflowID !== undefined && { workflowID }),
      ...(options !== undefined && { workflowOptions: options }),
    });
    // A member who may only change workflows may not check graphs; publishing checks them all the same.
    if (checked.status === 400) return inOwnNames(checked, workflowNames);
    const problems = rowsOf(checked.body, 'problems').map((problem) => ({
      ...problem,
      ...(problem.path !== undefined && { path: ownNames(String(problem.path), workflowNames) }),
    }));
    const asked = args.publish === true;
    const saved = {
      ...renamed(args, workflowNames),
      draft: !asked || problems.length > 0,
    };
    const answer =
      workflowID === undefined
        ? await call('create_workflow', saved)
        : await call('update_workflow', { workflowID, ...saved });
    if (isRefused(answer)) return inOwnNames(answer, workflowNames);
    const workflow = (answer.body.workflow ?? {}) as Record<string, unknown>;
    return success(
      {
        workflowID: workflow.id,
        ...pick(workflow, ['title', 'versionNumber']),
        saved: saved.draft ? 'as a draft' : 'and published',
        ...(asked && saved.draft && { refused: 'It was not published, because of its problems' }),
        problems,
        ...unknownIn(checked),
      },
      problems.length > 0
        ? ['save_workflow again with each problem mended']
        : [saved.draft ? 'save_workflow with publish true makes it run' : 'run_workflow runs it'],
    );
  },
};

function unknownIn({ body }: ToolResult): Record<string, unknown> {
  return body.unknownFields === undefined ? {} : { ignored: body.unknownFields };
}

const queryNames = {
  ...{ title: 'dataQueryTitle', description: 'dataQueryDescription', options: 'dataQueryOptions' },
  ...{ datasourceID: 'datasourceID', datasourceType: 'datasourceType' },
};

const saveQuery: AgentTool = {
  name: 'save_query',
  title: 'Save a query',
  group: 'Data queries',
  uses: ['create_query', 'update_query'],
  does: 'Store a query of a datasource, or change one by its whole definition.',
  when: 'Use it after try_query has shown the right rows. Values are written as {{inputs.name}}; they are bound, never pasted.',
  costs: 'low; nothing is run.',
  effect: 'changes',
  input: {
    dataQueryID: { type: 'string', description: 'The query to change. Absent: a new one' },
    title: { type: 'string' },
    description: { type: 'string' },
    datasourceID: { type: 'string', description: "Absent: the tenant's own database" },
    datasourceType: { type: 'string' },
    options: { type: 'object', description: 'By the form of get_form with of `query`' },
  },
  required: ['options'],
  async run(args, call) {
    const { dataQueryID } = args;
    const saved = renamed(args, queryNames);
    const answer =
      dataQueryID === undefined
        ? await call('create_query', saved)
        : await call('update_query', { dataQueryID, ...saved });
    if (isRefused(answer)) return inOwnNames(answer, queryNames);
    const query = (answer.body.dataQuery ?? {}) as Record<string, unknown>;
    return success({ dataQueryID: query.id, title: query.dataQueryTitle, ...unknownIn(answer) }, ['run_query runs it']);
  },
};

const tryQuery: AgentTool = {
  name: 'try_query',
  title: 'Try a query',
  group: 'Data queries',
  uses: ['test_query_by_data'],
  does: 'Run a query that is not stored, on a datasource or the own database of the tenant, and get its rows.',
  when: 'Use it to look at data, and before save_query.',
  costs:
    'waits for the server of the datasource, up to 30 seconds. The statement is really executed: an INSERT inserts.',
  effect: 'runs',
  input: {
    datasourceID: { type: 'string', description: "Absent: the tenant's own database" },
    options: { type: 'object', description: 'By the form of get_form with of `query`; for SQL {"query": "select …"}' },
    inputValues: { type: 'object', description: 'Values by name, for {{inputs.name}}' },
  },
  required: ['options'],
  run: async ({ options, ...others }, call) =>
    inOwnNames(await call('test_query_by_data', { ...others, dataQueryOptions: options }), queryNames),
};

const pageNames = { title: 'appPageTitle', description: 'appPageDescription', config: 'appPageConfig' };

const savePage: AgentTool = {
  name: 'save_page',
  title: 'Save a page',
  group: 'App pages',
  uses: ['create_app_page', 'update_app_page'],
  does: 'Make an app page, or change one by its whole definition. A new page is a draft, which runs nothing for its viewers, unless `publish` is true.',
  when: 'Use it after read_asset and get_form with of `appPage`.',
  costs: 'low; the version before stays. A page that is published changes at once.',
  effect: 'changes',
  input: {
    appPageID: { type: 'string', description: 'The page to change. Absent: a new one' },
    title: { type: 'string' },
    description: { type: 'string' },
    config: { type: 'object', description: 'layout, widgets, dataSources, variables' },
    publish,
  },
  required: ['config'],
  async run(args, call) {
    const { appPageID } = args;
    const saved = {
      ...renamed(args, pageNames),
      ...isDraftOf(args),
    };
    const answer =
      appPageID === undefined
        ? await call('create_app_page', saved)
        : await call('update_app_page', { appPageID: text('appPageID', appPageID), ...saved });
    if (isRefused(answer)) return inOwnNames(answer, pageNames);
    const page = (answer.body.appPage ?? {}) as Record<string, unknown>;
    const shown = { appPageID: page.id, title: page.appPageTitle, ...pick(page, ['isDraft', 'versionNumber']) };
    return success(
      { ...shown, ...unknownIn(answer) },
      page.isDraft ? ['save_page with publish true publishes it'] : [],
    );
  },
};

/** A page that exists stays what it is, unless the call says what it is to be. */
function isDraftOf({ appPageID, publish: isPublished }: ToolArguments): { isDraft?: boolean } {
  if (isPublished !== undefined) return { isDraft: isPublished !== true };
  return appPageID === undefined ? { isDraft: true } : {};
}

export const draftTools: readonly AgentTool[] = [getForm, saveWorkflow, tryQuery, saveQuery, savePage];
