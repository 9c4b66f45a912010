import type { z } from 'zod';
import { AppError } from '#shared/core/errors.ts';
import { isJsonObject } from '#shared/core/json.ts';
import type { Issue } from '#shared/core/schema/issues.ts';
import type { EntityManager } from '#shared/entities/orm.ts';
import { TenantVariable } from '#shared/entities/tables/tenant-variable.ts';
import { Workflow } from '#shared/entities/tables/workflow.ts';
import { variableUses } from '#shared/workflow/graph/variable-uses.ts';
import { findNodeKind } from '#shared/workflow/nodes/index.ts';
import { namedAssets } from '#shared/workflow/nodes/named-assets.ts';
import { checkGraph, findAssetFaults, type Graph } from '../../../graphs/graph.ts';
import { isAllowed } from '../../../http/access/grant.ts';
import type { Demand } from '../../../http/route/input.ts';
import type { PlanProblem } from './schemas.ts';

export type Problem = z.input<typeof PlanProblem>;

/** The faults of a graph. The graph is sound if its edges can be followed, although it may name assets that do not exist. */
export async function graphFaults(
  em: EntityManager,
  graph: Graph,
  workflowID?: string,
): Promise<{ isSound: boolean; problems: Problem[] }> {
  try {
    await checkGraph(em, graph, workflowID);
    return { isSound: true, problems: [] };
  } catch (error) {
    const { missing, unable } = await findAssetFaults(em, graph.nodes, workflowID);
    const assetProblems = [
      ...missing.map((issue) => problemOf(issue, 'missing')),
      ...unable.map((issue) => problemOf(issue, 'query')),
    ];
    const all = problemsIn(error, 'graph');
    const paths = new Set(assetProblems.map(({ path }) => path));
    const others = all.filter(({ path }) => !paths.has(path));
    return {
      isSound: others.length === 0,
      problems: [...assetProblems, ...others].map((each) => withNode(each, graph)),
    };
  }
}

/** The issues of an error; another error is thrown again. */
export function problemsIn(error: unknown, kind: Problem['kind']): Problem[] {
  const { issues } = error instanceof AppError && isJsonObject(error.details) ? error.details : {};
  if (!Array.isArray(issues)) throw error;
  // The cast is safe: only `invalid` writes `issues`.
  return (issues as unknown as Issue[]).map((issue) => problemOf(issue, kind));
}

function problemOf({ path, message }: Issue, kind: Problem['kind']): Problem {
  return { kind, path: path.join('.'), message };
}

function withNode(problem: Problem, { nodes }: Graph): Problem {
  const [, index] = /^workflowNodes\.(\d+)\b/.exec(problem.path ?? '') ?? [];
  const node = index === undefined ? undefined : nodes[Number(index)];
  return node ? { ...problem, nodeID: node.id } : problem;
}

/** Finds variables that the nodes name and the tenant lacks, and secrets in fields that do not accept secrets. */
export async function variableProblems(em: EntityManager, { nodes }: Graph): Promise<Problem[]> {
  const uses = nodes.flatMap(({ id: nodeID, type, data }) => {
    const definition = findNodeKind(type);
    const named = (definition && variableUses(definition, data)?.named) ?? [];
    return named.map(({ name, path }) => ({ nodeID, name, path, secrets: definition?.secrets ?? [] }));
  });
  if (uses.length === 0) return [];
  const found = await em.find(
    TenantVariable,
    { name: { $in: [...new Set(uses.map(({ name }) => name))] } },
    { fields: ['name', 'secret'] },
  );
  const isSecret = new Map(found.map(({ name, secret }) => [name, secret !== null && secret !== undefined]));
  return uses.flatMap(({ nodeID, name, path, secrets }): Problem[] => {
    const location = { kind: 'variable' as const, nodeID, path: path.join('.') };
    if (!isSecret.has(name)) return [{ ...location, message: `there is no variable "${name}"` }];
    const allowed: readonly string[] = secrets;
    if (!isSecret.get(name) || allowed.includes(String(path[0]))) return [];
    return [{ ...location, message: `the secret "${name}" cannot be used here` }];
  });
}

/**
 * Finds workflows that nodes name and that cannot be started. Workflows that do not exist are among the faults of the
 * graph.
 */
export async function workflowProblems(em: EntityManager, { nodes }: Graph): Promise<Problem[]> {
  const uses = nodes.flatMap(({ id: nodeID, type, data }) => {
    const definition = findNodeKind(type);
    const assets = definition ? namedAssets(definition, data) : [];
    return assets.flatMap(({ type: assetType, id, path }) =>
      assetType === 'workflow' ? [{ nodeID, id, path: path.join('.') }] : [],
    );
  });
  if (uses.length === 0) return [];
  const where = { id: { $in: [...new Set(uses.map(({ id }) => id))] } };
  const found = await em.find(Workflow, where, { fields: ['versionID', 'isDisabled'] });
  const faults = new Map(
    found.map(({ id, versionID, isDisabled }) => {
      if (isDisabled) return [id, 'the workflow is disabled'];
      return [id, versionID ? undefined : 'the workflow has drafts only'];
    }),
  );
  return uses.flatMap(({ nodeID, id, path }): Problem[] => {
    const message = faults.get(id);
    return message === undefined ? [] : [{ kind: 'workflow', nodeID, path, message }];
  });
}

/** Permissions that a graph needs to be saved, and its author lacks. */
export async function permissionProblems(
  needed: readonly Demand[],
  author: Parameters<typeof isAllowed>[0],
): Promise<Problem[]> {
  const problems: Problem[] = [];
  for (const access of needed) {
    if (await isAllowed(author, access)) continue;
    problems.push({ kind: 'missing', message: `you may not use ${access.object}: it needs ${access.permission}` });
  }
  return problems;
}
