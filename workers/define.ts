import type { z } from 'zod';
import type { Caller } from '#shared/caller.ts';
import type { AnyDatasource } from '#shared/datasources/index.ts';
import type { Json, JsonObject } from '#shared/json.ts';
import type { Logger } from '#shared/logger.ts';
import type { AnyNode } from '#shared/nodes/index.ts';
import type { BoundQuery } from '#shared/queries/bind.ts';
import type { Files } from './files.ts';
import type { Outbound } from './outbound.ts';
import type { OutboundFetch } from './outbound-fetch.ts';
import type { Queries } from './queries/queries.ts';
import type { Rights } from './rights.ts';
import type { Sandbox } from './sandbox/pool.ts';
import type { TenantDatabases } from './tenant-database/databases.ts';

/** What a node knows of the run it is in. `scope` is what templates and code call `ctx`. */
export interface NodeRun {
  readonly instanceID: string;
  readonly tenantID: string;
  /** Null where there is none: a test of a graph that was never saved. */
  readonly workflowID: string | null;
  readonly nodeID: string;
  /** The node's config as it was saved, templates and all. */
  readonly saved: JsonObject;
  readonly iteration: number;
  readonly attempt: number;
  readonly caller: Caller;
  readonly scope: JsonObject;
  /** The same for every attempt of this node in this run: `runID.nodeID.iteration`. */
  readonly idempotencyKey: string;
  readonly timeoutMs: number;
  readonly log: Logger;
}

/** Why a parked node is being asked again: the fact that fulfilled its wait. */
export type Fact =
  | { kind: 'time' }
  | { kind: 'input'; submission: JsonObject | null }
  | {
      kind: 'child';
      status: 'COMPLETED' | 'FAILED' | 'CANCELLED';
      instanceID: string;
      output: Json;
      message: string | null;
    };

export type Park =
  | { park: 'time'; ms: number }
  | { park: 'input'; expiresInMs: number | null; request: JsonObject }
  | { park: 'child'; workflowID: string; input: JsonObject; maxDepth: number; timeoutMs: number };

/** The declared exits; `string` where the config names them, and the engine checks. */
type ExitOf<D extends AnyNode> = Extract<D['exits'], readonly string[]>[number];

export interface NodeContext {
  sandbox: Sandbox;
  queries: Queries;
  rights: Rights;
  fetch: OutboundFetch;
}

export interface Task<D extends AnyNode> {
  /** Templates resolved, then parsed by the kind's own schema. */
  config: z.output<D['config']>;
  run: NodeRun;
  /** Present when the node parked and its wait is over. */
  fact?: Fact;
  signal: AbortSignal;
}

/** What a node kind does: answers with an output and the exit it leaves by, or parks. Throws an AppError to fail. */
export type Executor<D extends AnyNode> = (
  task: Task<D>,
  context: NodeContext,
) => Promise<{ output: JsonObject; exit: ExitOf<D> | (D['kind'] extends 'end' ? null : never) } | Park>;

/** Who runs a query and how much of the answer is wanted. */
export interface QueryRun {
  /** Aborted at the time limit, at the end of the process, and when nobody waits any more: whatever waits must end, at the server too. */
  signal: AbortSignal;
  maxRows: number;
  /** The same for every attempt at the same work, for servers that take one; null when there is none. */
  idempotencyKey: string | null;
  /**
   * Takes rows as they come, a portion at a time; the next is read when the promise is fulfilled. `data` is then empty and
   * `rowCount` says how many were taken; it fails with an AppError, which ends the query. A type that does not stream answers with all of them in `data`.
   */
  onRows?: (rows: JsonObject[]) => Promise<void>;
}

export interface QueryColumn {
  name: string;
  /** As the server calls it. */
  type: string;
}

/**
 * The answer of a query, as JSON: numbers that a double cannot hold and decimals are texts, times ISO 8601 with a zone where
 * they have one, bytes base64, JSON and lists themselves.
 */
export interface QueryResult {
  data: Json;
  columns?: QueryColumn[];
  /** Rows in `data`. */
  rowCount?: number;
  /** Rows that a writing statement touched. */
  affectedRows?: number;
  /** With pages: rows on all of them, and what gets the next. */
  totalCount?: number;
  nextCursor?: string | null;
  /** There was more than `maxRows`. */
  truncated?: boolean;
  notices?: string[];
}

/** A step in a tree of what a datasource has: schemas, tables, columns; buckets, keys; queues. */
export interface DatasourceItem {
  name: string;
  kind: string;
  /** Whether `browse` can go into it. */
  isContainer: boolean;
  type?: string;
  details?: JsonObject;
}

/**
 * A datasource that is open; kept and shared by all who ask the same, so it must bear many calls at once and mend itself when
 * the server was away. Whatever fails is an AppError whose words hold no secret.
 */
export interface Connection<D extends AnyDatasource> extends AsyncDisposable {
  /** Whether it can be reached and lets us in; throws when not. */
  test(signal: AbortSignal): Promise<void>;
  run(query: BoundQuery<z.output<D['query']>>, run: QueryRun): Promise<QueryResult>;
  /** What there is below a path, `[]` being the top. */
  browse?(path: readonly string[], signal: AbortSignal): Promise<DatasourceItem[]>;
  /** How the server would go about a query, in its own form. */
  explain?(query: BoundQuery<z.output<D['query']>>, run: QueryRun): Promise<Json>;
}

/** What a connector may use. */
export interface ConnectorContext {
  tenantID: string;
  outbound: Outbound;
  files: Files;
  tenantDatabases: TenantDatabases;
  logger: Logger;
}

/** Opens a datasource of one type. It need not connect before it is asked something. */
export type Connector<D extends AnyDatasource> = (
  options: z.output<D['options']>,
  context: ConnectorContext,
) => Connection<D> | Promise<Connection<D>>;
