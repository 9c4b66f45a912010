import { AppError } from '#shared/core/errors.ts';
import { isJsonObject } from '#shared/core/json.ts';
import { invalid } from '#shared/core/schema/issues.ts';
import { type FormLinks, tokenOf } from '#shared/runs/form-links.ts';
import type { GraphNode } from '#shared/workflow/graph/graph.ts';
import { LINKS_ROOT } from '#shared/workflow/nodes/links-root.ts';
import { pathKey } from '#shared/workflow/progress/iteration-path.ts';
import type { Activation } from '#shared/workflow/progress/progress.ts';
import type { LogLine } from '#shared/workflow/run-log.ts';
import type { Roots } from '#shared/workflow/templates/expressions.ts';
import { VARIABLES_ROOT } from '#shared/workflow/variables.ts';
import { maskIn } from '../../datasources/http/status.ts';
import type { NodeVariables } from '../../nodes/executor.ts';
import { maskOutput } from '../../nodes/mask.ts';
import type { VariablesByName } from '../../nodes/variables.ts';
import type { Run } from '../state/run.ts';

export const noVariables: NodeVariables = { values: {}, links: {}, secrets: [], inCode: false };

/** The variables of a node: all that are no secrets, and the secrets that its templates name, if its kind allows them in that field. */
export function variablesOf({ definition, variables }: GraphNode, all: VariablesByName): NodeVariables {
  const plain = [...all].flatMap(([name, variable]) => (variable.isSecret ? [] : [[name, variable.value] as const]));
  const allowed: readonly string[] = definition.secrets ?? [];
  const opened = new Map<string, string>();
  for (const { name, path } of variables?.named ?? []) {
    const variable = all.get(name);
    if (!variable) throw invalid([{ path: [...path], message: `there is no variable "${name}"` }]);
    if (!variable.isSecret) continue;
    if (!allowed.includes(String(path[0])))
      throw invalid([
        { path: [...path], message: `the secret "${name}" cannot be used here, but in ${whereOf(allowed)}` },
      ]);
    opened.set(name, variable.open());
  }
  return {
    values: Object.fromEntries([...plain, ...opened]),
    links: {},
    secrets: [...opened.values()],
    inCode: variables?.inCode ?? false,
  };
}

/** Adds the links that a node sends. Their tokens are masked like secrets. */
export function withLinks(
  variables: NodeVariables,
  { node, path }: Activation,
  { run, links }: Linking,
): NodeVariables {
  if (node.links.length === 0) return variables;
  const { id: instanceID, tenantID } = run;
  const urls = node.links.map(({ nodeID, path: at }) => {
    const url = links.urlOf({ tenantID, instanceID, nodeID, path: pathKey(path) });
    if (!URL.canParse(url))
      throw invalid([{ path: [...at], message: 'links need the setting PUBLIC_URL, which this deployment lacks' }]);
    return [nodeID, url] as const;
  });
  const secrets = [...variables.secrets, ...urls.map(([, url]) => tokenOf(url))];
  return { ...variables, links: Object.fromEntries(urls), secrets };
}

interface Linking {
  run: Pick<Run, 'id' | 'tenantID'>;
  links: FormLinks;
}

/** The values under the roots of templates other than `ctx`. */
export function rootsOf({ values, links }: NodeVariables): Roots {
  return { [VARIABLES_ROOT]: values, [LINKS_ROOT]: links };
}

function whereOf(fields: readonly string[]): string {
  return fields.length > 0 ? `the fields ${fields.join(', ')}` : 'nodes that send HTTP requests';
}

/** Masks secrets in an error that is stored and shown. */
export function maskError(error: AppError, secrets: readonly string[]): AppError {
  if (secrets.length === 0) return error;
  const { code, cause, status, retry, retryAfter, details } = error;
  return new AppError(code, maskIn(error.message, secrets), {
    cause,
    status,
    retry,
    ...(retryAfter !== undefined && { retryAfter }),
    ...(isJsonObject(details) && { details: maskOutput(details, secrets) }),
  });
}

/** Masks secrets in a line of the run's log. */
export function maskLine({ level, at, message, data }: LogLine, secrets: readonly string[]): LogLine {
  const masked = data === undefined ? undefined : maskOutput({ data }, secrets).data;
  return { level, at, message: maskIn(message, secrets), ...(masked !== undefined && { data: masked }) };
}
