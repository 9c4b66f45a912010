import type { Workspace } from './task.ts';

interface Step {
  type: string;
  [setting: string]: unknown;
}

interface Graph {
  workflowNodes: { id: string; type: string; data: Record<string, unknown> }[];
  workflowEdges: { id: string; source: string; target: string }[];
}

/** Steps one after the other, behind the start. */
export function chain(steps: Readonly<Record<string, Step>>): Graph {
  const all: [string, Step][] = [['start', { type: 'start' }], ...Object.entries(steps)];
  return {
    workflowNodes: all.map(([id, { type, ...data }]) => ({ id, type, data })),
    workflowEdges: all.slice(1).map(([target], index) => ({ id: `e${index}`, source: all[index]?.[0] ?? '', target })),
  };
}

interface WorkflowSettings {
  inputs?: Readonly<Record<string, 'string' | 'number'>>;
  draft?: boolean;
}

/** Answers with the id. */
export async function addWorkflow(
  { gantry, path }: Workspace,
  title: string,
  graph: Graph,
  { inputs = {}, draft = false }: WorkflowSettings = {},
): Promise<string> {
  const inputDefinitions = Object.entries(inputs).map(([key, type]) => ({ key, type, required: true }));
  const body = { title, ...graph, workflowOptions: { inputDefinitions }, draft };
  const { workflow } = await gantry.call('createWorkflow', { path, body: body as never });
  return workflow.id;
}

/** Answers with the rows of the last statement. */
export async function runSQL({ gantry, path }: Workspace, sql: string): Promise<unknown> {
  return (await gantry.call('executeRawSql', { path, body: { sql } })).result;
}

/** Runs a workflow to its end, and answers with the id of the run. */
export async function run({ gantry, path }: Workspace, workflowID: string, args: object = {}): Promise<string> {
  const { instanceID } = await gantry.call('executeWorkflow', {
    path: { ...path, workflowID },
    query: { wait: 30 } as never,
    body: { args: args as never },
  });
  return instanceID;
}

export async function statusOf({ gantry, path }: Workspace, instanceID: string): Promise<string> {
  const { status } = await gantry.call('getWorkflowInstance', { path: { ...path, instanceID } });
  return status;
}
