import { createContext } from 'react';

/** Columns by table, by schema. */
export type Tables = Readonly<Record<string, Readonly<Record<string, readonly string[]>>>>;

/** Names that code fields complete besides the words of their language. */
export interface Offered {
  /** Tables of the database that SQL is sent to; read when a completion is first asked for. */
  tables?: (() => Promise<Tables>) | undefined;
  /** Names that JavaScript is given: names of properties by name. */
  names?: Readonly<Record<string, readonly string[]>>;
}

/** For all code fields within. */
export const OfferedInCode = createContext<Offered>({});
