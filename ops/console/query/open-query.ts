import type { Offered, Tables } from '../code/offered.ts';
import { type ProposedQuery, useAsOpenPage } from '../open-page/open-page.ts';

interface Editing {
  /** Absent: the query is not saved yet. */
  id?: string;
  title: string;
  datasourceID: string | null;
  type: string;
  options: Readonly<Record<string, unknown>>;
  offered: Offered;
  onTake: (query: ProposedQuery) => void;
}

/** Tells the assistant of the query in the form and of the tables it can name, and takes its proposal into the form. */
export function useOpenQuery({ id, title, datasourceID, type, options, offered, onTake }: Editing): void {
  useAsOpenPage({
    ...{ kind: 'query', id, title: title || 'New query' },
    query: { datasourceID, onTake },
    read: async () => {
      const tables = await offered.tables?.().catch(() => undefined);
      return {
        ...{ datasourceID, datasourceType: type, isSaved: id !== undefined },
        dataQueryOptions: options,
        ...(tables && { tables: linesOf(tables) }),
      };
    },
  });
}

const MAX_TABLES = 200;

/** A line for each table, with its columns. */
function linesOf(tables: Tables): string[] {
  const lines = Object.entries(tables).flatMap(([schema, named]) =>
    Object.entries(named).map(([table, columns]) => {
      const path = schema === '' ? table : `${schema}.${table}`;
      return `${path}(${columns.map(({ name, type }) => `${name} ${type}`.trim()).join(', ')})`;
    }),
  );
  return lines.slice(0, MAX_TABLES);
}
