import { type ComponentType, createContext, Suspense, useContext } from 'react';

/** The table, query or workflow that a page is made of, where that is chosen already. */
export interface Begin {
  kind: 'table' | 'query' | 'workflow' | 'runs' | 'blank';
  /** A query or a workflow. */
  id?: string;
  schema?: string;
  table?: string;
}

interface Props {
  tenantID: string;
  begin?: Begin;
  onClose: () => void;
}

/** The ways to a new page, which the frame of the console gives: they read tables, queries and workflows, whose pages lead to them. */
export const NewPageContext = createContext<ComponentType<Props> | null>(null);

export function NewPageDialog(props: Props) {
  const Dialog = useContext(NewPageContext);
  return (
    Dialog && (
      <Suspense>
        <Dialog {...props} />
      </Suspense>
    )
  );
}
