import type pg from 'pg';
import type { Connection, FieldDef, Submittable } from 'pg';
import { AppError } from '#shared/errors.ts';
import { MAX_BYTES } from '../rows.ts';

/** What the server said, values as it wrote them. */
export interface RawResult {
  /** Null for a statement that answers with no rows at all. */
  fields: FieldDef[] | null;
  rows: (string | null)[][];
  /** Of a statement that writes. */
  affectedRows: number | undefined;
  isCut: boolean;
}

interface Asked {
  sql: string;
  values: readonly (string | null)[];
  /** Rows after which no more are asked for. */
  maxRows: number;
}

/** How many rows are asked for at once: about this much text, going by the rows so far. */
const BATCH_BYTES = 1024 * 1024;
const FIRST_BATCH = 100;
const LARGEST_BATCH = 10_000;

/** Runs one statement by the extended protocol, which takes no second one, and reads no more rows than wanted. */
export function ask(client: pg.Client, asked: Asked): Promise<RawResult> {
  return client.query(new Portal(asked)).answer;
}

/** The types that the server expects of the values. */
export function describe(client: pg.Client, sql: string): Promise<readonly number[]> {
  return client.query(new Description(sql)).answer;
}

interface ParameterDescription {
  dataTypeIDs: number[];
}

/** The handlers are the driver's: it calls each when the message of that name comes. */
class Description implements Submittable {
  readonly answer: Promise<readonly number[]>;
  readonly #sql: string;
  readonly #settle = Promise.withResolvers<readonly number[]>();
  #connection: Connection | undefined;
  #types: readonly number[] = [];
  #error: Error | undefined;

  constructor(sql: string) {
    this.#sql = sql;
    this.answer = this.#settle.promise;
  }

  submit(connection: Connection): void {
    this.#connection = connection;
    connection.once('parameterDescription', this.#keep);
    connection.parse({ name: '', text: this.#sql, types: [] }, true);
    connection.describe({ type: 'S', name: '' }, true);
    connection.sync();
  }

  readonly #keep = ({ dataTypeIDs }: ParameterDescription): void => {
    this.#types = dataTypeIDs;
  };

  handleRowDescription(): void {}

  handleError(error: Error): void {
    this.#error = error;
    this.#end();
  }

  handleReadyForQuery(): void {
    this.#end();
  }

  #end(): void {
    this.#connection?.off('parameterDescription', this.#keep);
    if (this.#error) this.#settle.reject(this.#error);
    else this.#settle.resolve(this.#types);
  }
}

class Portal implements Submittable {
  readonly answer: Promise<RawResult>;
  readonly #asked: Asked;
  readonly #settle = Promise.withResolvers<RawResult>();
  readonly #result: RawResult = { fields: null, rows: [], affectedRows: undefined, isCut: false };
  #bytes = 0;
  #isSynced = false;

  constructor(asked: Asked) {
    this.#asked = asked;
    this.answer = this.#settle.promise;
  }

  submit(connection: Connection): void {
    const { sql, values, maxRows } = this.#asked;
    connection.parse({ name: '', text: sql, types: [] }, true);
    connection.bind({ values: [...values] }, true);
    connection.describe({ type: 'P', name: '' }, true);
    fetch(connection, Math.min(FIRST_BATCH, maxRows + 1));
  }

  handleRowDescription({ fields }: { fields: FieldDef[] }): void {
    this.#result.fields = fields;
  }

  handleDataRow({ fields }: { fields: (string | null)[] }): void {
    for (const field of fields) this.#bytes += field?.length ?? 0;
    if (this.#bytes > MAX_BYTES || this.#result.rows.length === this.#asked.maxRows) this.#result.isCut = true;
    if (!this.#result.isCut) this.#result.rows.push(fields);
  }

  /** There are more rows. The sync that ends the portal also commits what the statement did. */
  handlePortalSuspended(connection: Connection): void {
    const { rows, isCut } = this.#result;
    if (isCut) return this.#sync(connection);
    const affordable = Math.ceil(BATCH_BYTES / Math.max(1, this.#bytes / rows.length));
    const wanted = this.#asked.maxRows + 1 - rows.length;
    fetch(connection, Math.min(wanted, affordable, LARGEST_BATCH));
  }

  handleCommandComplete({ text }: { text: string }, connection: Connection): void {
    const [, written] = /^(?:INSERT \d+|UPDATE|DELETE|MERGE|COPY) (\d+)$/.exec(text) ?? [];
    if (written !== undefined) this.#result.affectedRows = Number(written);
    this.#sync(connection);
  }

  handleEmptyQuery(connection: Connection): void {
    this.#sync(connection);
  }

  handleError(error: Error, connection: Connection): void {
    this.#settle.reject(error);
    this.#sync(connection);
  }

  handleReadyForQuery(): void {
    this.#settle.resolve(this.#result);
  }

  handleCopyInResponse(connection: Connection): void {
    this.#refuseCopy(connection);
  }

  handleCopyData(_message: unknown, connection: Connection): void {
    this.#refuseCopy(connection);
  }

  /** Each is answered, so a second one would end the next query: a commit may fail after the first. */
  #sync(connection: Connection): void {
    if (!this.#isSynced) connection.sync();
    this.#isSynced = true;
  }

  /** The protocol would go on in a mode of its own, so the connection ends here. */
  #refuseCopy(connection: Connection): void {
    this.#settle.reject(
      new AppError('DB_ERROR', 'COPY from STDIN or to STDOUT sends rows beside the query: use INSERT or SELECT'),
    );
    connection.stream.destroy();
  }
}

function fetch(connection: Connection, rows: number): void {
  // The driver's types say text, but it writes a number.
  connection.execute({ rows: rows as unknown as string }, true);
  connection.flush();
}
