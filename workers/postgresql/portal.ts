import type { Connection, FieldDef, Submittable } from 'pg';
import { AppError } from '#shared/errors.ts';
import type { PostgresConnection } from './connection.ts';

export type RawRow = (string | null)[];

export interface PortalRequest {
  /** One statement. */
  sql: string;
  values: readonly (string | null)[];
  budget: Budget;
  /** What errors call the statement. */
  field?: string;
  /** Takes the rows as they come; the next portion is fetched when the promise is fulfilled. */
  take?: (rows: RawRow[], fields: readonly FieldDef[]) => Promise<void>;
}

export interface Budget {
  /** Rows after which no more are asked for. */
  rows: number;
  /** About as many as in JSON; the first row is read whatever its size. */
  bytes: number;
}

/** What the server said, values as it wrote them. */
export interface RawResult {
  /** Null for a statement that answers with no rows at all. */
  fields: FieldDef[] | null;
  /** Empty when somebody has taken them. */
  rows: RawRow[];
  /** That were read, here or taken. */
  rowCount: number;
  bytes: number;
  /** The server's last word on the statement: `INSERT 0 5`. None for a text without a statement, and where it was cut short. */
  tag: string | null;
  isCut: boolean;
}

/** The word of the statement, and the rows that it touched, as far as the server says either. */
export function readTag(tag: string): { command: string; count: number | null } {
  const [, command = '', count] = /^(\w+).*?(?: (\d+))?$/.exec(tag) ?? [];
  return { command, count: count === undefined ? null : Number(count) };
}

/** How much is asked for at once: about so much text, going by the rows of the last portion. */
const PORTION_BYTES = 1024 * 1024;
const FIRST_PORTION = 50;
const LARGEST_PORTION = 10_000;

/**
 * Runs one statement by the extended protocol, which takes no second one, and reads no more rows than the budget allows: a
 * million cost no more than the first few.
 */
export function runPortal({ driver }: PostgresConnection, request: PortalRequest): Promise<RawResult> {
  return driver.query(new Portal(request)).answer;
}

/** What a statement takes and gives, without running it. */
export interface Description {
  /** The types that the server expects of the values. */
  parameters: readonly number[];
  fields: readonly FieldDef[];
}

export function describeStatement({ driver }: PostgresConnection, sql: string): Promise<Description> {
  return driver.query(new Preparation(sql)).answer;
}

interface ParameterDescription {
  dataTypeIDs: number[];
}

/** The handlers are the driver's: it calls each when the message of that name comes. */
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
    connection.once('parameterDescription', this.#keep);
    connection.parse({ name: '', text: this.#sql, types: [] }, true);
    connection.describe({ type: 'S', name: '' }, true);
    connection.sync();
  }

  readonly #keep = ({ dataTypeIDs }: ParameterDescription): void => {
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
    this.#connection?.off('parameterDescription', this.#keep);
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
  /** In JSON every row repeats the names. */
  #named = 0;
  /** Of what was asked for last. */
  #portion = { rows: 0, bytes: 0 };
  /** Of the rows that wait to be handed over. */
  #held = 0;
  #handing = Promise.resolve();
  #refusal: AppError | undefined;
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
    fetch(connection, Math.min(FIRST_PORTION, budget.rows + 1));
  }

  handleRowDescription({ fields }: { fields: FieldDef[] }): void {
    this.#result.fields = fields;
    for (const { name } of fields) this.#named += name.length + 6;
  }

  handleDataRow({ fields: row }: { fields: RawRow }): void {
    const result = this.#result;
    if (result.isCut) return;
    let bytes = this.#named;
    for (const value of row) bytes += value?.length ?? 4;
    result.isCut = !this.#hasRoomFor(bytes);
    if (result.isCut) return;
    result.rows.push(row);
    result.rowCount += 1;
    result.bytes += bytes;
    this.#portion.rows += 1;
    this.#portion.bytes += bytes;
    this.#held += bytes;
    if (this.#request.take && this.#held > 2 * PORTION_BYTES) this.#holdBack();
  }

  #hasRoomFor(bytes: number): boolean {
    const { rows, bytes: most } = this.#request.budget;
    if (this.#result.rowCount === rows) return false;
    return this.#result.rowCount === 0 ? most > 0 : this.#result.bytes + bytes <= most;
  }

  /** The rows are larger than those before them, and what was asked for with these in mind is too much to hold. */
  #holdBack(): void {
    const stream = this.#connection?.stream;
    stream?.pause();
    this.#handOver(() => stream?.resume());
  }

  /** There are more rows. The sync that ends the portal also commits what the statement did. */
  handlePortalSuspended(connection: Connection): void {
    this.#handOver(() => {
      if (this.#result.isCut) this.#sync(connection);
      else fetch(connection, this.#nextPortion());
    });
  }

  /** As many as seem to fit, and one that shows that there are more. */
  #nextPortion(): number {
    const { budget } = this.#request;
    const { rowCount, bytes } = this.#result;
    const size = Math.max(1, this.#portion.bytes / Math.max(1, this.#portion.rows));
    this.#portion = { rows: 0, bytes: 0 };
    const affordable = Math.ceil(PORTION_BYTES / size);
    const fitting = Math.floor((budget.bytes - bytes) / size) + 1;
    return Math.max(1, Math.min(budget.rows + 1 - rowCount, affordable, fitting, LARGEST_PORTION));
  }

  handleCommandComplete({ text }: { text: string }, connection: Connection): void {
    this.#result.tag = text;
    this.#handOver(() => this.#sync(connection));
  }

  handleEmptyQuery(connection: Connection): void {
    this.#sync(connection);
  }

  handleError(error: Error, connection: Connection): void {
    this.#isOver = true;
    this.#settle.reject(this.#refusal ?? error);
    this.#sync(connection);
    // Nobody takes what may have been held back.
    connection.stream.resume();
  }

  handleReadyForQuery(): void {
    this.#isOver = true;
    this.#settle.resolve(this.#result);
  }

  /** The server waits for rows until it is told that there are none, and then says that this is an error. */
  handleCopyInResponse(connection: Connection): void {
    this.#refusal = this.#copyRefused();
    // The driver's types do not know of it.
    (connection as unknown as { sendCopyFail(message: string): void }).sendCopyFail('there is nothing to copy from');
  }

  /** Nothing that could be said would keep the server from sending all of it, so the connection ends here. */
  handleCopyData(): void {
    this.#giveUp(this.#copyRefused());
  }

  #copyRefused(): AppError {
    const message = 'COPY from STDIN or to STDOUT sends rows beside the statement: use INSERT or SELECT';
    // Statements before it may be done.
    return new AppError('VALIDATION_ERROR', `${this.#request.field ?? 'statement'}: ${message}`, {
      details: { sent: true },
    });
  }

  /** Goes on when the rows that are here have been taken, in the order in which they came. */
  #handOver(goOn: () => void): void {
    const { take } = this.#request;
    if (!take) return goOn();
    const rows = this.#result.rows.splice(0);
    this.#held = 0;
    this.#handing = this.#handing.then(async () => {
      if (this.#isOver) return;
      try {
        if (rows.length > 0) await take(rows, this.#result.fields ?? []);
        if (!this.#isOver) goOn();
      } catch (error) {
        this.#giveUp(error);
      }
    });
  }

  /** With the connection ends whatever the statement did. */
  #giveUp(error: unknown): void {
    this.#isOver = true;
    this.#settle.reject(error);
    this.#connection?.stream.destroy();
  }

  /** Each is answered, so a second one would end the next query: a commit may fail after the first. */
  #sync(connection: Connection): void {
    if (!this.#isSynced) connection.sync();
    this.#isSynced = true;
  }
}

function fetch(connection: Connection, rows: number): void {
  // The driver's types say text, but it writes a number.
  connection.execute({ rows: rows as unknown as string }, true);
  connection.flush();
}
