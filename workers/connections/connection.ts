import type { z } from 'zod';
import type { AnyDatasource } from '#shared/datasources/index.ts';
import type { Json, JsonObject } from '#shared/json.ts';
import type { BoundQuery } from '#shared/queries/bind.ts';

/** How a query is executed. */
export interface ExecuteOptions {
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
  execute(query: BoundQuery<z.output<D['query']>>, run: ExecuteOptions): Promise<QueryResult>;
  /** What there is below a path, `[]` being the top. */
  browse?(path: readonly string[], signal: AbortSignal): Promise<DatasourceItem[]>;
  /** How the server would go about a query, in its own form. */
  explain?(query: BoundQuery<z.output<D['query']>>, run: ExecuteOptions): Promise<Json>;
}
