import { AppError } from '#shared/core/errors.ts';
import { isJsonObject, type JsonObject } from '#shared/core/json.ts';
import type { PlannedNode } from '#shared/messaging/queues/workflow-plans.ts';
import type { GraphNode } from '#shared/workflow/graph/graph.ts';
import { exitsOf, isPure, isSpread, usualExitOf } from '#shared/workflow/nodes/properties.ts';
import { takenFrom } from '#shared/workflow/progress/progress.ts';
import { contextPatch, resolveConfig } from '#shared/workflow/resolve-config.ts';
import type { NodeContext, NodeRun } from '../../nodes/executor.ts';
import { executorOf } from '../../nodes/index.ts';
import { exitAfterFailure, shownError } from '../state/outcome.ts';
import type { LoadedVersion } from '../state/run.ts';
import { type Certainty, type Dependencies, dependsOn, no, onlyOn, union, yes } from './certainty.ts';
import { unreadRoots } from './unread-roots.ts';
import type { PlannedScope } from './values.ts';

interface Surroundings {
  scope: PlannedScope;
  isReached: Certainty;
}

interface OwnSurroundings extends Surroundings {
  /** The exit by which the node is left when it cannot begin; undefined if that ends the run. */
  failedExit: string | null | undefined;
  /** Whether nodes after it may run although it has failed. */
  mayBePassed: boolean;
}

/** The result of a plan for a node that may be reached. */
export interface Judged {
  /** Whether the edges of an exit are taken, once the node is reached. */
  leavesBy(exit: string): Certainty;
  shown: Pick<PlannedNode, 'exit' | 'items' | 'error'>;
  /** The item and the index that each iteration of the body gets, by their keys of `ctx`: unknown values. */
  given: Map<string, { on: Dependencies }>;
}

const nothing: Pick<Judged, 'given'> = { given: new Map() };

/** Evaluates a node. If it is pure and its inputs are known, it is computed, and the scope gets its output; else its output is unknown. */
export async function evaluateNode(
  version: LoadedVersion,
  node: GraphNode,
  { scope, isReached }: Surroundings,
): Promise<Judged> {
  const { definition } = node;
  const policy = version.policies[node.index];
  const around = {
    scope,
    isReached,
    failedExit: exitAfterFailure(node, policy?.errorHandling),
    mayBePassed: exitAfterFailure(node, policy?.afterFailedItems) !== undefined,
  };
  if (node.isDisabled) return leavingBy(node, usualExitOf(definition, node.config));
  // The dependencies of unknown values that the node reads.
  const found: Dependencies[] = [];
  const note = (on: Dependencies) => void found.push(on);
  const ctx = scope.at(node, note);
  try {
    const resolved = resolveConfig(node, ctx, unreadRoots(note));
    if (definition.body !== undefined) return await evaluateBody(node, around, { resolved, ctx, found });
    // An unknown value reads as null. A result that was computed with one would be wrong.
    if (found.length === 0 && isPure(definition, resolved)) {
      const result = executorOf(definition)(taskOf(resolved, ctx), noContext);
      if (!(result instanceof Promise) && found.length === 0) {
        const patch = contextPatch(node, resolved, result.output);
        if (patch) scope.set(node, patch, isReached);
        return leavingBy(node, result.exit);
      }
    }
    return unknown(node, around, { resolved, found });
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
    // It may have failed by the null in place of an unknown value only.
    if (found.length > 0) return unknown(node, around, { resolved: node.config, found });
    return failing(node, around, error);
  }
}

/** The result for a node that leaves by this exit. */
function leavingBy(node: GraphNode, exit: string | null): Judged {
  const isTaken = takenFrom(node, exit);
  return { ...nothing, leavesBy: (name) => (isTaken(name) ? yes : no), shown: { exit } };
}

/** The result for a node whose output is unknown: it has an effect, waits, runs code, or computes with unknown values. */
function unknown(
  node: GraphNode,
  { scope, isReached, mayBePassed }: OwnSurroundings,
  { resolved, found }: { resolved: unknown; found: readonly Dependencies[] },
): Judged {
  const { definition, id: nodeID } = node;
  if (mayBePassed) scope.fail(node);
  // The output of a pure node depends on what it reads, that of another node on its execution.
  const computes = isPure(definition, resolved) && found.length > 0;
  const on = computes ? union(found) : onlyOn({ nodeID, on: 'output' });
  for (const key of keysOf(node, resolved, { computes })) scope.setUnknown(node, key, { on, certainty: isReached });

  const exits = exitsOf(definition, node.config).filter((exit) => exit !== 'error');
  const onlyExit = exits.length === 1 ? (exits[0] ?? null) : undefined;
  const isTaken = onlyExit === undefined ? undefined : takenFrom(node, onlyExit);
  const undecided = dependsOn(computes ? union(found) : onlyOn({ nodeID, on: 'exit' }));
  return {
    ...nothing,
    leavesBy(exit) {
      if (exit === 'error') return dependsOn(onlyOn({ nodeID, on: 'failure' }));
      return isTaken ? (isTaken(exit) ? yes : no) : undecided;
    },
    shown: onlyExit === undefined ? {} : { exit: onlyExit },
  };
}

/** The keys of `ctx` that a node sets; a null stands for unknown keys. A pure node sets the same keys if it is computed with nulls. */
function keysOf(node: GraphNode, resolved: unknown, { computes }: { computes: boolean }): (string | null)[] {
  const name = isJsonObject(resolved) ? resolved.outputVariable : undefined;
  const named = typeof name === 'string' ? [name] : [];
  if (!isSpread(node.definition, resolved)) return named;
  if (!computes) return [...named, null];
  try {
    const result = executorOf(node.definition)(taskOf(resolved, {}), noContext);
    const patch = result instanceof Promise ? null : contextPatch(node, resolved, result.output);
    return patch ? Object.keys(patch) : [...named, null];
  } catch {
    return [...named, null];
  }
}

/** The result for a node that repeats its body: it reads nothing but its list, and has no effect of its own. */
async function evaluateBody(
  node: GraphNode,
  around: OwnSurroundings,
  { resolved, ctx, found }: { resolved: unknown; ctx: JsonObject; found: readonly Dependencies[] },
): Promise<Judged> {
  const { definition, id: nodeID } = node;
  const parked = found.length > 0 ? undefined : await executorOf(definition)(taskOf(resolved, ctx), noContext);
  const items = parked && 'park' in parked && 'items' in parked ? parked.items : undefined;
  // The results of the iterations, and whether the node fails, are unknown.
  const ended = unknown(node, around, { resolved, found: [] });
  const usual = usualExitOf(definition, node.config);
  const isRepeated = items ? (items.length > 0 ? yes : no) : dependsOn(union(found));
  const config = isJsonObject(resolved) ? resolved : {};
  const names = [config.itemVariable, config.indexVariable].filter((name) => typeof name === 'string');
  return {
    leavesBy(exit) {
      if (exit === definition.body) return isRepeated;
      return exit === 'error' ? ended.leavesBy(exit) : takenFrom(node, usual)(exit) ? yes : no;
    },
    shown: { exit: usual, ...(items && { items: items.length }) },
    given: new Map(names.map((name) => [name, { on: onlyOn({ nodeID, on: 'item' }) }])),
  };
}

/** The result for a node that fails whenever it is reached. */
function failing(node: GraphNode, { scope, isReached, failedExit }: OwnSurroundings, error: AppError): Judged {
  const shown = { error: shownError(error) };
  if (failedExit === undefined) return { ...nothing, leavesBy: () => no, shown };
  scope.fail(node);
  const name = isJsonObject(node.config) ? node.config.outputVariable : undefined;
  if (typeof name === 'string') scope.set(node, { [name]: null }, isReached);
  return { ...leavingBy(node, failedExit), shown: { ...shown, exit: failedExit } };
}

function taskOf(config: unknown, ctx: JsonObject) {
  const run = { scope: ctx, print: () => undefined };
  // Executors that only compute, and those that begin a body, read nothing else of the run.
  return { config, run: run as unknown as NodeRun, signal: new AbortController().signal };
}

/** The context of executors that do no I/O. */
const noContext = {} as NodeContext;
