import type { z } from 'zod';
import type { Json, JsonObject } from '#shared/core/json.ts';
import type { BoundQuery } from '#shared/datasources/queries/bind.ts';
import type { AnyDatasource } from '#shared/datasources/types/index.ts';

/** Options of the execution of a query. */
export interface ExecuteOptions {
  /** Aborted at the time limit, at the end of the process, and when the client has disconnected: all work must stop, at the server too. */
  signal: AbortSignal;
  maxRows: number;
  /** A key that is the same for every attempt at the same work. It is sent to servers that accept one; null for none. */
  idempotencyKey: string | null;
  /** Whether the server must refuse to change anything: types whose queries are statements execute them read-only. */
  isDryRun?: boolean;
  /** Whether the work is done at most once for the key, by a receipt in the same transaction; for types with `receipts`. */
  isOnce?: boolean;
  /**
   * Receives rows in batches as they arrive; the next batch is read when the promise resolves. `data` is then empty and `rowCount` is
   * the number of rows received. Rejects with an AppError to end the query. A type that does not stream returns all rows in `data`.
   */
  onRows?: (rows: JsonObject[]) => Promise<void>;
}

export interface QueryColumn {
  name: string;
  /** Type name of the server. */
  type: string;
}

/**
 * The answer of a query as JSON: decimals and numbers that a double cannot hold are texts, times are ISO 8601 with a zone if
 * they have one, bytes are base64, JSON and lists stay.
 */
export interface QueryResult {
  data: Json;
  columns?: QueryColumn[];
  /** Rows in `data`. */
  rowCount?: number;
  /** Rows that a writing statement changed. */
  affectedRows?: number;
  /** Set if the result has pages: the number of rows of all pages, and the cursor of the next page. */
  totalCount?: number;
  nextCursor?: string | null;
  /** The result had more rows than `maxRows`. */
  truncated?: boolean;
  notices?: string[];
}

/** An entry of a datasource's tree: schemas, tables, columns; buckets, keys; queues. */
export interface DatasourceItem {
  name: string;
  kind: string;
  /** Whether `browse` can list its content. */
  isContainer: boolean;
  type?: string;
  details?: JsonObject;
}

/**
 * An open datasource. It is cached and shared by concurrent calls, and reconnects after the server was away. Its errors are
 * AppErrors whose messages contain no secret.
 */
export interface Connection<D extends AnyDatasource> extends AsyncDisposable {
  /** Throws unless the server is reachable and accepts the credentials. */
  test(signal: AbortSignal): Promise<void>;
  execute(query: BoundQuery<z.output<D['query']>>, run: ExecuteOptions): Promise<QueryResult>;
  /** Entries below a path; `[]` is the top. */
  browse?(path: readonly string[], signal: AbortSignal): Promise<DatasourceItem[]>;
  /** The server's plan of a query, in the server's own form. */
  explain?(query: BoundQuery<z.output<D['query']>>, run: ExecuteOptions): Promise<Json>;
}
