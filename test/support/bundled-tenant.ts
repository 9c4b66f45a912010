import type { JsonObject } from '#shared/core/json.ts';
import type { Client } from './client.ts';
import { testServers } from './environment.ts';
import { graph } from './graphs.ts';

/** The assets of each kind that `fillTenant` creates: 100 in all. */
export const assetCounts = {
  folder: 8,
  datasource: 10,
  variable: 3,
  dataQuery: 21,
  workflow: 18,
  widget: 16,
  listener: 6,
  appPage: 6,
  dashboard: 5,
  cronJob: 4,
  role: 3,
};

/** Ids of the first assets of each kind. */
export interface FilledTenant {
  datasourceIDs: string[];
  variableIDs: string[];
  dataQueryIDs: string[];
  workflowIDs: string[];
  widgetIDs: string[];
  listenerIDs: string[];
  appPageIDs: string[];
  dashboardIDs: string[];
  cronJobIDs: string[];
  roleIDs: string[];
  folderIDs: string[];
}

const SECRET = 'correct horse battery staple';

/** Its secret is in no bundle. */
export const aSecretVariable = { name: 'shopToken', value: SECRET, isSecret: true, description: 'Of the shop' };

/** Creates assets of every kind, which name one another in every way that is declared, as a client does. */
export async function fillTenant(api: Client): Promise<FilledTenant> {
  const create = async (path: string, field: string, body: object): Promise<string> => {
    const answer = await api.post(`T/${path}`, body);
    if (answer.status !== 201) throw new Error(`${path}: ${JSON.stringify(answer.body)}`);
    return answer.body[field].id;
  };
  const several = async (count: number, make: (at: number) => Promise<string>): Promise<string[]> => {
    const ids: string[] = [];
    for (let at = 0; at < count; at += 1) ids.push(await make(at));
    return ids;
  };
  const pick = (ids: readonly string[], at: number) => ids[at % ids.length] ?? '';

  const kindsOfFolders = ['dataQuery', 'workflow', 'widget', 'appPage', 'listener', 'datasource', 'dashboard'] as const;
  const folderIDs = await several(7, (at) =>
    create('folders', 'folder', { entityType: kindsOfFolders[at], folderTitle: `Of ${kindsOfFolders[at]}` }),
  );
  const inside = { entityType: 'dataQuery', folderTitle: 'Inside', parentFolderID: folderIDs[0] };
  folderIDs.push(await create('folders', 'folder', inside));

  const datasourceIDs = await several(10, (at) =>
    create('datasources', 'datasource', {
      datasourceTitle: `Datasource ${at}`,
      datasourceDescription: at % 2 ? null : 'A server',
      datasourceTags: ['shop'],
      folderID: folderIDs[5],
      ...datasourceOf(at),
    }),
  );
  const asked = (at: number) => ({ sql: `select ${at} as n, 1 as amount where 1 = {{inputs.id}}` });
  const dataQueryIDs = await several(21, (at) =>
    create('queries', 'dataQuery', {
      dataQueryTitle: `Query ${at}`,
      datasourceID: pick(datasourceIDs.slice(0, 4), at),
      dataQueryOptions: { query: asked(at).sql, inputDefinitions: [{ key: 'id', type: 'number' }] },
      runOnLoad: at % 3 === 0,
      isDisabled: at % 11 === 10,
      folderID: folderIDs[at % 2 ? 0 : 7],
    }),
  );
  const variables = [{ name: 'limit', value: 1 }, { name: 'shops', value: ['n', 's'] }, aSecretVariable];
  const variableIDs = await several(3, (at) => create('variables', 'variable', variables[at] ?? {}));
  const workflowIDs: string[] = [];
  for (let at = 0; at < 18; at += 1) {
    const child = workflowIDs.at(-1);
    const { nodes, edges } = graph(
      {
        start: { type: 'start' },
        query: {
          type: 'dataQuery',
          dataQueryID: pick(dataQueryIDs, at),
          inputValues: { id: at === 1 ? '{{vars.limit}}' : 1 },
        },
        ...(child && { child: { type: 'subWorkflow', childWorkflowID: child } }),
        end: { type: 'end' },
      },
      child ? ['start>query', 'query>child', 'child>end'] : ['start>query', 'query>end'],
    );
    const body = {
      title: `Workflow ${at}`,
      workflowDescription: 'Asks',
      workflowNodes: nodes,
      workflowEdges: edges,
      workflowOptions: { ...(workflowIDs[0] && { onFailure: { workflowID: workflowIDs[0] } }) },
      folderID: folderIDs[1],
      draft: at === 17,
    };
    workflowIDs.push(await create('workflows', 'workflow', body));
  }
  // A circle: the first workflow is told of failures, and its own are told to the second.
  await api.patch(`T/workflows/${workflowIDs[0]}`, { workflowOptions: { onFailure: { workflowID: workflowIDs[1] } } });
  await api.patch(`T/workflows/${workflowIDs[2]}`, { isDisabled: true });

  const widgetIDs = await several(16, (at) =>
    create('widgets', 'widget', {
      widgetTitle: `Widget ${at}`,
      widgetType: at % 2 ? 'table' : 'bar',
      widgetConfig: {
        properties: { title: 'Orders' },
        dataQueries: [
          { dataQueryID: pick(dataQueryIDs, at), title: 'n', datasetFields: { xAxis: 'n', yAxis: 'amount' } },
        ],
        events: { onClick: [{ type: 'TRIGGER_WORKFLOW', workflowID: pick(workflowIDs, at) }] },
      },
      refreshInterval: at,
      folderID: folderIDs[2],
    }),
  );
  const listenerIDs = await several(6, (at) =>
    create('listeners', 'listener', {
      listenerTitle: `Listener ${at}`,
      datasourceID: pick(datasourceIDs.slice(8), at),
      endpointPath: `orders/${at}/:orderID`,
      status: at % 2 ? 'active' : 'inactive',
      actions: [
        { actionType: 'transform', actionConfig: { script: 'return event;' } },
        { actionType: 'trigger_workflow', actionConfig: { workflowID: pick(workflowIDs, at) }, isEnabled: at !== 3 },
        { actionType: 'trigger_query', actionConfig: { dataQueryID: pick(dataQueryIDs, at) } },
      ],
      folderID: folderIDs[4],
    }),
  );
  const appPageIDs = await several(6, (at) => create('app-pages', 'appPage', pageOf(at)));
  await api.post(`T/listeners/${listenerIDs[0]}/actions`, {
    actionType: 'push_to_app_page',
    actionConfig: { appPageID: appPageIDs[0] },
  });
  const dashboardIDs = await several(5, (at) => {
    const keys = [`widget_${pick(widgetIDs, at)}_0`, `widget_${pick(widgetIDs, at + 3)}_1`];
    const layouts = { lg: keys.map((i, x) => ({ i, x, y: 0, w: 6, h: 4 })) };
    const dashboardConfig = { widgets: keys, layouts };
    return create('dashboards', 'dashboard', {
      dashboardTitle: `Dashboard ${at}`,
      dashboardConfig,
      folderID: folderIDs[6],
    });
  });
  const cronJobIDs = await several(4, (at) =>
    create('cronjobs', 'cronJob', {
      cronJobTitle: `Job ${at}`,
      cronJobSchedule: '0 0 29 2 *',
      timezone: 'Europe/Berlin',
      ...(at % 2
        ? { cronJobType: 'workflow', cronJobConfig: { workflowID: pick(workflowIDs, at) } }
        : { cronJobType: 'dataQuery', cronJobConfig: { dataQueryID: pick(dataQueryIDs, at), inputValues: { id: 2 } } }),
    }),
  );
  const roleIDs = await several(3, (at) =>
    create('roles', 'role', {
      roleName: `Role ${at}`,
      rolePermissions: ['workflow.read', 'widget.execute'],
      assetPermissions: [{ resourceType: 'workflow', resourceID: pick(workflowIDs, at), action: 'execute' }],
    }),
  );
  return {
    ...{ datasourceIDs, variableIDs, dataQueryIDs, workflowIDs, widgetIDs, listenerIDs },
    ...{ appPageIDs, dashboardIDs, cronJobIDs, roleIDs, folderIDs },
  };

  function pageOf(at: number): JsonObject {
    const key = `widget_${pick(widgetIDs, at)}_a`;
    return {
      appPageTitle: `Page ${at}`,
      appPageDescription: 'Orders',
      isDraft: at === 5,
      folderID: folderIDs[3] ?? null,
      appPageConfig: {
        layoutVersion: 2,
        layout: { id: 'root', type: 'column', children: [{ id: 'w', type: 'widget', widgetKey: key, span: 12 }] },
        widgets: [key],
        dataSources: [
          { alias: 'orders', type: 'query', queryID: pick(dataQueryIDs, at), inputValues: { id: '{{variables.id}}' } },
          { alias: 'approve', type: 'workflow', workflowID: pick(workflowIDs, at) },
          { alias: 'news', type: 'listener', listenerID: pick(listenerIDs, at) },
        ],
        variables: [{ key: 'id', type: 'number', defaultValue: 1 }],
      },
    };
  }
}

function datasourceOf(at: number): { datasourceType: string; datasourceOptions: JsonObject } {
  if (at < 2)
    return {
      datasourceType: 'postgresql',
      datasourceOptions: { connectionOption: 'connectionString', connectionString: testServers.datasourceURL },
    };
  if (at < 4) {
    const connectionDetails = {
      host: 'db.example.test',
      port: 5432,
      database: 'shop',
      user: 'reader',
      password: SECRET,
    };
    const datasourceOptions = { connectionOption: 'connectionDetails', connectionDetails };
    return { datasourceType: 'postgresql', datasourceOptions };
  }
  if (at < 8) {
    const headers = [
      { key: 'X-Tenant', value: SECRET },
      { key: 'X-Zone', value: '' },
    ];
    const baseUrl = 'https://api.example.test';
    return {
      datasourceType: 'restapi',
      datasourceOptions: { baseUrl, authType: 'bearer', bearerToken: SECRET, headers },
    };
  }
  return { datasourceType: 'webhook', datasourceOptions: { authType: 'bearer', bearerToken: SECRET } };
}
