import pg from 'pg';
import { AppError } from '#shared/errors.ts';
import type { TenantClient } from './open.ts';

/** Values as the server wrote them, with what they are. */
export interface RawResult {
  fields: { name: string; typeID: number; modifier: number }[];
  rows: (string | null)[][];
  /** The first word of the statement, as the server says it; null for a statement without words. */
  command: string | null;
  /** As the server counts; of a result that was cut short, the rows that are here. */
  rowCount: number | null;
  truncated: boolean;
  /** About as many as in JSON. */
  bytes: number;
}

export interface Budget {
  rows: number;
  bytes: number;
}

/** Fetched at a time, so that what is too much is noticed before it is here. */
const BATCH = 500;
const FIRST_BATCH = 20;

/** One statement, of whose result no more is fetched than the budget allows: a million rows cost no more than the first few. */
export async function runStatement(
  client: TenantClient,
  { text, values = [] }: { text: string; values?: readonly unknown[] },
  budget: Budget,
): Promise<RawResult> {
  const { promise, resolve, reject } = Promise.withResolvers<RawResult>();
  const query = new BudgetedQuery(text, values, budget);
  query.on('end', () => resolve(query.result()));
  query.on('error', reject);
  client.query(query);
  return promise;
}

const asWritten = { getTypeParser: () => (value: string) => value };

/** The parts of the driver's query that its types leave out. */
interface Wire {
  execute(options: { portal: string; rows: number }): void;
  flush(): void;
  sync(): void;
  sendCopyFail(message: string): void;
}
interface Answered {
  fields: { name: string; dataTypeID: number; dataTypeModifier: number }[];
  command: string | null;
  rowCount: number | null;
}

class BudgetedQuery extends pg.Query {
  readonly #budget: Budget;
  readonly #rows: (string | null)[][] = [];
  #bytes = 0;
  #truncated = false;
  #isCopyIn = false;

  constructor(text: string, values: readonly unknown[], budget: Budget) {
    const config = {
      text,
      values: [...values],
      rowMode: 'array',
      types: asWritten,
      rows: Math.min(FIRST_BATCH, budget.rows + 1),
    };
    super(config as pg.QueryConfig);
    this.#budget = budget;
    this.on('row', (row) => this.#take(row as unknown as (string | null)[]));
  }

  result(): RawResult {
    // The driver keeps the fields and the server's last words here.
    const { fields, command, rowCount } = (this as unknown as { _result: Answered })._result;
    return {
      fields: fields.map(({ name, dataTypeID, dataTypeModifier }) => ({
        name,
        typeID: dataTypeID,
        modifier: dataTypeModifier,
      })),
      rows: this.#rows,
      command: command ?? (this.#truncated ? 'SELECT' : null),
      // Of rows that came in portions, the server counts the last one only.
      rowCount: fields.length > 0 ? Math.max(this.#truncated ? 0 : (rowCount ?? 0), this.#rows.length) : rowCount,
      truncated: this.#truncated,
      bytes: this.#bytes,
    };
  }

  #take(row: (string | null)[]): void {
    if (this.#truncated) return;
    if (this.#rows.length >= this.#budget.rows || this.#bytes > this.#budget.bytes) {
      this.#truncated = true;
      return;
    }
    this.#rows.push(row);
    this.#bytes += sizeOf(row, this.#named());
  }

  /** As many as the budget seems to have room for, and one that shows that there are more. */
  #nextBatch(): number {
    const size = this.#bytes / Math.max(this.#rows.length, 1);
    const fitting = Math.floor((this.#budget.bytes - this.#bytes) / Math.max(size, 1)) + 1;
    return Math.max(1, Math.min(BATCH, fitting, this.#budget.rows - this.#rows.length + 1));
  }

  /** In JSON every row repeats the names. */
  #named(): number {
    const { fields } = (this as unknown as { _result: Answered })._result;
    return fields.reduce((sum, { name }) => sum + name.length + 6, 0);
  }

  /** There is more. One row beyond the budget tells that there is, and the rest stays where it is. */
  handlePortalSuspended(connection: Wire): void {
    if (this.#bytes > this.#budget.bytes) this.#truncated = true;
    if (this.#truncated) return connection.sync();
    connection.execute({ portal: '', rows: this.#nextBatch() });
    connection.flush();
  }

  /** Would wait for rows of the client, which has none. */
  handleCopyInResponse(connection: Wire): void {
    this.#isCopyIn = true;
    connection.sendCopyFail('there is nothing to copy from');
  }

  /** After an error nothing comes until the server has been told that we know. */
  handleError(error: Error, connection: Wire): void {
    connection.sync();
    this.emit('error', this.#isCopyIn ? nothingToCopy(error) : error);
  }
}

function sizeOf(row: readonly (string | null)[], named: number): number {
  return row.reduce((sum, value) => sum + (value?.length ?? 4), named);
}

function nothingToCopy(cause: Error): AppError {
  return new AppError('VALIDATION_ERROR', 'sql: COPY … FROM STDIN has nothing to read from here', { cause });
}
