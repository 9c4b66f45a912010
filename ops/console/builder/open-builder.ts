import { useAsOpenPage } from '../open-page/open-page.ts';
import type { Edit, PageDocument } from './document.ts';

interface Editing {
  document: PageDocument;
  mayChange: boolean;
  edit: (edit: Edit, what?: string) => void;
}

/** Tells the assistant of the page in the builder, and takes its proposal into it, as one change that can be taken back. */
export function useOpenBuilder({ document, mayChange, edit }: Editing): void {
  useAsOpenPage({
    ...{ kind: 'page', id: document.id, title: document.title },
    page: { document, mayChange, onTake: (next) => edit(next as Edit, 'proposal of the assistant') },
    read: () => ({
      ...{ appPageID: document.id, appPageConfig: document.config },
      widgets: Object.values(document.widgets).map(({ key, title, type, config }) => ({ key, title, type, ...config })),
    }),
  });
}
