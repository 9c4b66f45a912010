import type { Connection, FieldDef, Submittable } from 'pg';
import type { AppError } from '#shared/core/errors.ts';
import { invalidField } from '#shared/core/schema/issues.ts';
import type { PostgresConnection } from './connection.ts';

export type RawRow = (string | null)[];

export interface PortalRequest {
  /** SQL text of exactly one statement. */
  sql: string;
  values: readonly (string | null)[];
  budget: Budget;
  /** Name of the statement in errors. */
  field?: string;
  /** Called with the rows as they arrive; the next batch is fetched when the promise resolves. */
  onRows?: (rows: RawRow[], fields: readonly FieldDef[]) => Promise<void>;
}

export interface Budget {
  /** Maximum number of rows. */
  rows: number;
  /** Approximate size in JSON; the first row is read in any size. */
  bytes: number;
}

/** Answer of the server, with values as text. */
export interface RawResult {
  /** Null for a statement that returns no rows. */
  fields: FieldDef[] | null;
  /** Empty if they were passed to `onRows`. */
  rows: RawRow[];
  /** Number of rows read, including those that were passed to `onRows`. */
  rowCount: number;
  bytes: number;
  /** The command tag: `INSERT 0 5`. Null for an empty statement, and when reading was stopped. */
  tag: string | null;
  /** Whether the server had more rows than the budget allows. */
  isCut: boolean;
}

/** Command and number of rows of a command tag, as far as it has them. */
export function readTag(tag: string): { command: string; count: number | null } {
  const [, command = '', count] = /^(\w+).*?(?: (\d+))?$/.exec(tag) ?? [];
  return { command, count: count === undefined ? null : Number(count) };
}

/** Bytes of text to fetch at once, estimated from the last batch. */
const BATCH_BYTES = 1024 * 1024;
const FIRST_BATCH_ROWS = 50;
const MAX_BATCH_ROWS = 10_000;

/**
 * Runs one statement by the extended protocol, which accepts only one, and reads no more rows than the budget allows: of a
 * million rows only these are sent.
 */
export function runPortal({ driver }: PostgresConnection, request: PortalRequest): Promise<RawResult> {
  return driver.query(new Portal(request)).answer;
}

/** Describes parameters and columns of a statement without running it. */
export interface Description {
  /** Types that the server expects of the parameters. */
  parameters: readonly number[];
  fields: readonly FieldDef[];
}

export function describeStatement({ driver }: PostgresConnection, sql: string): Promise<Description> {
  return driver.query(new Preparation(sql)).answer;
}

interface ParameterDescription {
  dataTypeIDs: number[];
}

/** Describes a statement. The driver calls the method `handleX` when the server sends the message X. */
class Preparation implements Submittable {
  readonly answer: Promise<Description>;
  readonly #sql: string;
  readonly #settle = Promise.withResolvers<Description>();
  #connection: Connection | undefined;
  #parameters: readonly number[] = [];
  #fields: readonly FieldDef[] = [];
  #error: Error | undefined;

  constructor(sql: string) {
    this.#sql = sql;
    this.answer = this.#settle.promise;
  }

  submit(connection: Connection): void {
    this.#connection = connection;
    connection.once('parameterDescription', this.#onParameters);
    connection.parse({ name: '', text: this.#sql, types: [] }, true);
    connection.describe({ type: 'S', name: '' }, true);
    connection.sync();
  }

  readonly #onParameters = ({ dataTypeIDs }: ParameterDescription): void => {
    this.#parameters = dataTypeIDs;
  };

  handleRowDescription({ fields }: { fields: FieldDef[] }): void {
    this.#fields = fields;
  }

  handleError(error: Error): void {
    this.#error = error;
    this.#end();
  }

  handleReadyForQuery(): void {
    this.#end();
  }

  #end(): void {
    this.#connection?.off('parameterDescription', this.#onParameters);
    if (this.#error) this.#settle.reject(this.#error);
    else this.#settle.resolve({ parameters: this.#parameters, fields: this.#fields });
  }
}

/** A portal of our own: the driver's cursor throws outside of every promise at COPY, and syncs twice when a commit fails. */
class Portal implements Submittable {
  readonly answer: Promise<RawResult>;
  readonly #request: PortalRequest;
  readonly #settle = Promise.withResolvers<RawResult>();
  readonly #result: RawResult = { fields: null, rows: [], rowCount: 0, bytes: 0, tag: null, isCut: false };
  #connection: Connection | undefined;
  /** Characters of the column names, which every row repeats in JSON. */
  #namesLength = 0;
  /** Rows of the last fetch. */
  #batch = { rows: 0, bytes: 0 };
  /** Bytes of the rows that are not passed on yet. */
  #pendingBytes = 0;
  #delivery = Promise.resolve();
  #copyError: AppError | undefined;
  #isSynced = false;
  #isOver = false;

  constructor(request: PortalRequest) {
    this.#request = request;
    this.answer = this.#settle.promise;
  }

  submit(connection: Connection): void {
    this.#connection = connection;
    const { sql, values, budget } = this.#request;
    connection.parse({ name: '', text: sql, types: [] }, true);
    connection.bind({ values: [...values] }, true);
    connection.describe({ type: 'P', name: '' }, true);
    fetch(connection, Math.min(FIRST_BATCH_ROWS, budget.rows + 1));
  }

  handleRowDescription({ fields }: { fields: FieldDef[] }): void {
    this.#result.fields = fields;
    for (const { name } of fields) this.#namesLength += name.length + 6;
  }

  handleDataRow({ fields: row }: { fields: RawRow }): void {
    const result = this.#result;
    if (result.isCut) return;
    let bytes = this.#namesLength;
    for (const value of row) bytes += value?.length ?? 4;
    result.isCut = !this.#hasRoomFor(bytes);
    if (result.isCut) return;
    result.rows.push(row);
    result.rowCount += 1;
    result.bytes += bytes;
    this.#batch.rows += 1;
    this.#batch.bytes += bytes;
    this.#pendingBytes += bytes;
    if (this.#request.onRows && this.#pendingBytes > 2 * BATCH_BYTES) this.#pause();
  }

  #hasRoomFor(bytes: number): boolean {
    const { rows, bytes: maxBytes } = this.#request.budget;
    if (this.#result.rowCount === rows) return false;
    return this.#result.rowCount === 0 ? maxBytes > 0 : this.#result.bytes + bytes <= maxBytes;
  }

  /** Pauses a batch that turns out too large for memory, because its rows are larger than earlier ones, until its rows are passed on. */
  #pause(): void {
    const stream = this.#connection?.stream;
    stream?.pause();
    this.#deliver(() => stream?.resume());
  }

  /** Is called after a batch if there are more rows. The sync that ends the portal also commits what the statement did. */
  handlePortalSuspended(connection: Connection): void {
    this.#deliver(() => {
      if (this.#result.isCut) this.#sync(connection);
      else fetch(connection, this.#nextBatchRows());
    });
  }

  /** Number of rows to fetch next: as many as should fit, and one more to know whether there are others. */
  #nextBatchRows(): number {
    const { budget } = this.#request;
    const { rowCount, bytes } = this.#result;
    const size = Math.max(1, this.#batch.bytes / Math.max(1, this.#batch.rows));
    this.#batch = { rows: 0, bytes: 0 };
    const affordable = Math.ceil(BATCH_BYTES / size);
    const fitting = Math.floor((budget.bytes - bytes) / size) + 1;
    return Math.max(1, Math.min(budget.rows + 1 - rowCount, affordable, fitting, MAX_BATCH_ROWS));
  }

  handleCommandComplete({ text }: { text: string }, connection: Connection): void {
    this.#result.tag = text;
    this.#deliver(() => this.#sync(connection));
  }

  handleEmptyQuery(connection: Connection): void {
    this.#sync(connection);
  }

  handleError(error: Error, connection: Connection): void {
    this.#isOver = true;
    this.#settle.reject(this.#copyError ?? error);
    this.#sync(connection);
    // No more rows are passed on, so nothing else would resume a paused connection.
    connection.stream.resume();
  }

  handleReadyForQuery(): void {
    this.#isOver = true;
    this.#settle.resolve(this.#result);
  }

  /** Answers COPY FROM STDIN, which waits for rows, with a failure. The server then sends an error. */
  handleCopyInResponse(connection: Connection): void {
    this.#copyError = this.#copyNotSupported();
    // The method is missing in the driver's types.
    (connection as unknown as { sendCopyFail(message: string): void }).sendCopyFail('there is nothing to copy from');
  }

  /** COPY TO STDOUT cannot be stopped in the protocol, so the connection is closed. */
  handleCopyData(): void {
    this.#giveUp(this.#copyNotSupported());
  }

  #copyNotSupported(): AppError {
    const message = 'COPY from STDIN or to STDOUT sends rows beside the statement: use INSERT or SELECT';
    // `sent`: earlier statements may have taken effect.
    return invalidField(this.#request.field ?? 'statement', message, { details: { sent: true } });
  }

  /** Passes the rows read so far to `onRows`, after earlier ones, and then proceeds. */
  #deliver(proceed: () => void): void {
    const { onRows } = this.#request;
    if (!onRows) return proceed();
    const rows = this.#result.rows.splice(0);
    this.#pendingBytes = 0;
    this.#delivery = this.#delivery.then(async () => {
      if (this.#isOver) return;
      try {
        if (rows.length > 0) await onRows(rows, this.#result.fields ?? []);
        if (!this.#isOver) proceed();
      } catch (error) {
        this.#giveUp(error);
      }
    });
  }

  /** Closing the connection rolls the statement back. */
  #giveUp(error: unknown): void {
    this.#isOver = true;
    this.#settle.reject(error);
    this.#connection?.stream.destroy();
  }

  /** Sends a sync only once, also when the commit fails after it: the server answers each, and a second answer would end the next query. */
  #sync(connection: Connection): void {
    if (!this.#isSynced) connection.sync();
    this.#isSynced = true;
  }
}

function fetch(connection: Connection, rows: number): void {
  // The driver's types say string, but it writes a number.
  connection.execute({ rows: rows as unknown as string }, true);
  connection.flush();
}
