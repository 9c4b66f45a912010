import { splitPermission } from '#shared/access/policy/permissions.ts';
import { scopeOf } from '#shared/access/policy/policy.ts';
import { runCooperatively } from '#shared/concurrency/cooperative.ts';
import { subjectsOf } from '#shared/core/caller.ts';
import { AppError, toAppError } from '#shared/core/errors.ts';
import type { Identified } from '../auth/identify.ts';
import type { ApiContext } from '../context/context.ts';
import { reported } from '../http/response/report-error.ts';
import type { RouteGroup } from '../http/route/route.ts';
import { callerOf } from '../http/serve/mount.ts';
import { agentTools } from './agent/index.ts';
import { callRouteTool } from './call-route.ts';
import { composedTools } from './composed.ts';
import { describingTools } from './describe.ts';
import { createInProcess, type InProcess } from './in-process.ts';
import { readArguments } from './read-arguments.ts';
import { isInScope, scopeNeeded, scopesOf } from './scopes.ts';
import type {
  ComposedTool,
  Requirement,
  RouteTool,
  ToolArguments,
  ToolCaller,
  ToolOptions,
  ToolResult,
} from './tool.ts';

export type Tool = RouteTool | ComposedTool;

/** Tools with which models, and programs that act for a model, work in a tenant. */
export interface ToolRegistry {
  /** All tools by name. */
  readonly tools: ReadonlyMap<string, Tool>;
  /** Groups of tools, each with a description. */
  readonly groups: readonly { name: string; description: string }[];
  /** The tools that a member may call, in the order of the contract. */
  allowed(tenantID: string, identity: Identified): Promise<Tool[]>;
  /**
   * Calls a tool as its route would be called: validates, authorizes, executes, and records in the audit trail. A
   * refusal is a result with its status; NOT_FOUND is thrown for a tool that does not exist.
   */
  call(caller: ToolCaller, name: string, args: ToolArguments, options?: ToolOptions): Promise<ToolResult>;
  readonly inProcess: InProcess;
}

/** Describes the tools of all routes, in steps between which other work of the process can run. */
export async function createToolRegistry(
  context: ApiContext,
  groups: readonly RouteGroup<ApiContext>[],
): Promise<ToolRegistry> {
  const others: Tool[] = [...(await runCooperatively(describingTools(groups))), ...composedTools(context.config)];
  const described: Tool[] = [...others, ...agentTools(others)];
  const tools = new Map(described.map((tool) => [tool.name, tool]));
  if (tools.size !== described.length) throw new Error('Two tools have the same name');
  const routes = groups.flatMap((group) => group.routes).filter((route) => route.realm === 'tenant');
  const inProcess = createInProcess(context, routes);

  async function call(
    caller: ToolCaller,
    name: string,
    args: ToolArguments,
    options: ToolOptions = {},
  ): Promise<ToolResult> {
    const tool = tools.get(name);
    if (!tool) throw new AppError('NOT_FOUND', `There is no tool ${JSON.stringify(name)}`);
    if (!isInScope(tool, scopesOf(caller))) return refusedByScope(tool);
    try {
      if ('route' in tool) return await callRouteTool(inProcess, tool, { caller, args, ...options });
      const { signal } = options;
      return await tool.run(readArguments(tool.inputSchema, args), (other, otherArgs) =>
        call(caller, other, otherArgs, { signal }),
      );
    } catch (error) {
      const { status } = toAppError(error);
      return { status, body: { success: false, error: { ...reported(context.logger, error, { tool: name }) } } };
    }
  }

  return {
    tools,
    groups: groups
      .filter(({ tag }) => described.some(({ group }) => group === tag))
      .map(({ tag, description }) => ({ name: tag, description })),
    inProcess,
    call,
    async allowed(tenantID, identity) {
      const { membership } = identity;
      if (!membership) return [];
      const policyCaller = { tenantID, version: membership.policyVersion, subjects: subjectsOf(callerOf(identity)) };
      const answers = new Map<string, Promise<boolean>>();
      const holds = ({ permission, object }: Requirement) => {
        const key = `${permission} ${object ?? ''}`;
        const [, action] = splitPermission(permission);
        const answer =
          answers.get(key) ??
          (object === undefined
            ? scopeOf(context.access.policy, policyCaller, permission).then((scope) => scope !== 'none')
            : context.access.policy.can({ ...policyCaller, object, action }));
        answers.set(key, answer);
        return answer;
      };
      const verdicts = await Promise.all(described.map(({ required }) => someList(required, holds)));
      return described.filter((tool, index) => verdicts[index] && isInScope(tool, identity.app?.scopes));
    },
  };
}

function refusedByScope(tool: Tool): ToolResult {
  const message = `This app was not allowed \`${scopeNeeded(tool)}\` when its user connected it: connect it again and allow that`;
  return { status: 403, body: { success: false, error: { code: 'PERMISSION_DENIED', message } } };
}

async function someList(
  lists: readonly (readonly Requirement[])[],
  holds: (requirement: Requirement) => Promise<boolean>,
): Promise<boolean> {
  for (const list of lists) if ((await Promise.all(list.map(holds))).every(Boolean)) return true;
  return false;
}
