import { useState } from 'react';
import { UndoButtons, useUndo } from '../editor/use-undo.tsx';
import { PageTitle } from '../ui/page.tsx';
import { type Edit, isChanged, type StoredPage } from './document.ts';
import { ChosenWidget, PagePanels } from './panels/side-panels.tsx';

interface Props {
  tenantID: string;
  stored: StoredPage;
}

/** The builder of a page or a dashboard: its parts, the page itself, and the panel of the part that is chosen. */
export function Builder({ stored }: Props) {
  const { value: document, change, undo } = useUndo(() => stored.document);
  const [chosen, setChosen] = useState<string>();
  const edit = (next: Edit, what?: string) => change(next, what);
  const isDirty = isChanged(document, stored.document);
  return (
    <div className="builder">
      <PageTitle title={document.title} beside={isDirty && <span className="status">Not saved</span>}>
        <UndoButtons {...undo} />
      </PageTitle>
      <ul>
        {Object.values(document.widgets).map(({ key, title }) => (
          <li key={key}>
            <button type="button" aria-pressed={key === chosen} onClick={() => setChosen(key)}>
              {title}
            </button>
          </li>
        ))}
      </ul>
      <PanelOfPart {...{ document, chosen, edit }} />
    </div>
  );
}

export interface PartPanelProps {
  document: StoredPage['document'];
  /** The key of a widget, or the id of another part of the layout. */
  chosen: string | undefined;
  edit: (edit: Edit, what?: string) => void;
}

/** The properties of the part that is chosen, and the panels of the page. */
function PanelOfPart({ document, chosen, edit }: PartPanelProps) {
  return (
    <>
      {chosen !== undefined && <ChosenWidget {...{ document, edit }} widgetKey={chosen} page={undefined} />}
      <PagePanels {...{ document, edit }} page={undefined} isDirty={false} onReload={async () => undefined} />
    </>
  );
}
