import type { z } from 'zod';
import type { Actor, Caller } from '#shared/core/caller.ts';
import type { Json, JsonObject } from '#shared/core/json.ts';
import type { Logger } from '#shared/core/logger.ts';
import type { Repeat } from '#shared/messaging/realtime/run-events.ts';
import type { FormLinks } from '#shared/runs/form-links.ts';
import type { MapPlan } from '#shared/workflow/map-plan.ts';
import type { AnyNode } from '#shared/workflow/nodes/index.ts';
import type { EndStatus } from '#shared/workflow/nodes/kinds/end.ts';
import type { IterationPath } from '#shared/workflow/progress/iteration-path.ts';
import type { ShownError } from '#shared/workflow/run-error.ts';
import type { Printed } from '#shared/workflow/run-log.ts';
import type { AI } from '../ai/calls.ts';
import type { ToolCalls } from '../ai/node-tools.ts';
import type { OutboundServices } from '../datasources/connectors/outbound-services.ts';
import type { Queries } from '../datasources/queries/queries.ts';
import type { Sandbox } from '../sandbox/pool.ts';
import type { TenantVariables } from './variables.ts';

/** A node's view of its run. `scope` is what templates and code call `ctx`. */
export interface NodeRun {
  readonly instanceID: string;
  readonly tenantID: string;
  /** Null if there is no workflow, as in the test of a graph that was never saved. */
  readonly workflowID: string | null;
  readonly nodeID: string;
  /** The index of the innermost iteration; 0 outside of loops. */
  readonly iteration: number;
  readonly frame: IterationPath;
  readonly attempt: number;
  readonly caller: Caller;
  /** Who saved the version of the workflow; null if it is not known. */
  readonly author: Actor | null;
  readonly scope: JsonObject;
  readonly variables: NodeVariables;
  /** The same for every attempt of this node in this activation, and different for all other work. */
  readonly idempotencyKey: string;
  readonly timeoutMs: number;
  /** Name of the setting with the time limit, for errors. */
  readonly timeoutSetBy: string;
  /** Whether writes are refused: the executor, or what it calls, then throws RefusedWrite. */
  readonly isDryRun: boolean;
  readonly log: Logger;
  /** Adds lines to the log of the run, which is written with the outcome of the attempt. */
  print(printed: Printed): void;
}

/** The variables of a node beside `ctx`: those of its tenant at the moment of the node, and links to questions. */
export interface NodeVariables {
  /** The values that templates and code call `vars`; of secrets, those that the node's templates may insert. */
  readonly values: JsonObject;
  /** The links that templates call `links`: those that the node sends, by the node whose question they answer. */
  readonly links: JsonObject;
  /** Texts in clear of secrets and links, to be masked in outputs and errors. */
  readonly secrets: readonly string[];
  /** Whether the node's code reads `vars`. */
  readonly inCode: boolean;
}

/** The result of a wait, with which a parked node is executed again. */
export type WaitResult =
  /** `ms`: duration of the wait. */
  | { kind: 'time'; ms: number }
  | { kind: 'input'; submission: JsonObject | null }
  | { kind: 'event'; event: TakenEvent | null }
  | { kind: 'iterations'; results: Json[]; total: number; failed: number }
  /** All chunks of a map have ended. The engine reads the results of the items, and the executor gets them as `iterations`. */
  | { kind: 'chunks'; mapID: string; outcome: MapOutcome }
  | {
      kind: 'child';
      status: 'COMPLETED' | 'FAILED' | 'CANCELLED';
      instanceID: string;
      output: Json;
      error: ChildError | null;
    };

/** An event that a run has received. In a wait result, null instead of it means that none came in time. */
export interface TakenEvent {
  id: string;
  data: Json;
  sentAt: string;
}

/**
 * How a map has ended. `done`: all chunks have ended. `failed`: more items have failed than the node tolerates. `stopped`: a chunk was
 * stopped. `large`: the results are too large together.
 */
export type MapOutcome = 'done' | 'failed' | 'stopped' | 'large';

/** The error of a child run, as stored with it. */
export interface ChildError extends ShownError {
  nodeID: string | null;
  frame?: IterationPath;
}

export type Park =
  | { park: 'time'; ms: number }
  | { park: 'input'; expiresInMs: number | null; request: JsonObject }
  | { park: 'event'; name: string; key: string; lookbackMs: number; expiresInMs: number | null }
  | ({ park: 'iterations'; items: Json[] } & Repeat)
  | ({ park: 'chunks'; items: Json[] } & MapPlan)
  | { park: 'child'; workflowID: string; input: JsonObject; maxDepth: number };

/** Exits that the kind declares; `string` if the config names the exits, which the engine then checks. */
type ExitOf<D extends AnyNode> = Extract<D['exits'], readonly string[]>[number];

export interface NodeContext extends Pick<OutboundServices, 'fetch'> {
  sandbox: Sandbox;
  queries: Queries;
  variables: TenantVariables;
  formLinks: FormLinks;
  ai: Pick<AI, 'text'>;
  toolCalls: ToolCalls;
}

export interface Task<D extends AnyNode> {
  /** Templates resolved, then parsed by the kind's own schema. */
  config: z.output<D['config']>;
  run: NodeRun;
  /** Present when the node parked and its wait is over. */
  waitResult?: WaitResult;
  signal: AbortSignal;
}

type Outcome<D extends AnyNode> = true extends D['ends']
  ? {
      output: { status: EndStatus; workflowOutput: JsonObject; [more: string]: Json };
      exit: null;
      /** Ends the run at once, and cancels its nodes that run or wait. */
      cancelsOthers: boolean;
    }
  : { output: JsonObject; exit: ExitOf<D> };

/** Executes a node: returns an output and an exit, or parks. Throws an AppError to fail. A kind that waits for nothing returns no promise. */
export type Executor<D extends AnyNode> = (
  task: Task<D>,
  context: NodeContext,
) => Promise<Outcome<D> | Park> | Outcome<D>;
