/** Names of tools that do not follow from the names of their routes. */
export const toolNames: Readonly<Record<string, string>> = {
  getTenant: 'get_tenant_info',
  listTenantUsers: 'list_tenant_members',
  listRoles: 'list_tenant_roles',
  getDatasourceMetadata: 'get_datasource_schema',
};

/** Arguments that have another name than the field of the route: for each route, the field by the name of the argument. */
export const renamedArguments: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  createQueries: { queries: 'body' },
};

/** A field of the body, by the name of the route, whose own fields are arguments of the tool. */
export const liftedFields: Readonly<Record<string, string>> = { testQueryByData: 'dataQuery' };

/** Defaults of tools. The defaults of the routes are meant for programs, and would fill the context of a model. */
export const listDefaults: Readonly<Record<string, string | number>> = { pageSize: 20, fields: 'summary' };

/** Routes of a tenant that have no tool, each with the reason. */
export const withoutTool: Readonly<Record<string, string>> = {
  uploadTenantLogo: 'it takes a file',
  uploadDatasourceFile: 'it takes a file',
  uploadWidgetFile: 'it takes a file',
  exportRows: 'it answers with a file',
  downloadDatasourceFile: 'it answers with a file',
  getWidgetFile: 'it answers with a file',
  getAppPageFile: 'it answers with a file',
  exportAuditLogs: 'it answers with a file',
  getAppPageData: 'it answers with a line for each item; run_app_page_query and get_widget_data answer for one',
  streamWorkflowInstance: 'it answers with a stream, which calls of execute_workflow report as progress',
  streamAiChat: 'it answers with a stream, and a model does not ask itself',
  resumeAiChat: 'it answers with a stream',
  stopAiChat: 'a person stops an answer, and a model would stop its own',
  createApiKey: 'its answer is a credential, which a model must not see',
  cloneApiKey: 'its answer is a credential, which a model must not see',
  approveToolCall: 'a person decides it, and a model must not',
  refuseToolCall: 'a person decides it, and a model must not',
  setToolApprovalPolicy: 'a model must not lift the approvals that bind it',
  startOauth: 'it redirects a browser',
  getOauthUrl: 'a person signs in in a browser',
  putApiKey: 'update_api_key does the same',
  putListener: 'update_listener does the same',
};

/** `listCronJobs` → `list_cron_jobs` */
export function toolNameOf(routeName: string): string {
  return toolNames[routeName] ?? routeName.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}
