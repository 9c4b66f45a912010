import { createContext } from 'react';

export interface Column {
  name: string;
  /** As the database names it, such as `numeric`; empty where it is not known. */
  type: string;
}

/** Columns by table, by schema. */
export type Tables = Readonly<Record<string, Readonly<Record<string, readonly Column[]>>>>;

/** Names that code fields complete besides the words of their language. */
export interface Offered {
  /** Tables of the database that SQL is sent to; read when a completion is first asked for. */
  tables?: (() => Promise<Tables>) | undefined;
  /** The quotes of names that need them; absent: double quotes. */
  quote?: '`' | undefined;
  /** Objects that JavaScript is given, by name: their properties are completed, also those of objects in them. */
  names?: Readonly<Record<string, object>>;
}

/** For all code fields within. */
export const OfferedInCode = createContext<Offered>({});
