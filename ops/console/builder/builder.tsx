import './builder.css';
import { Button } from '@mantine/core';
import { useState } from 'react';
import { useMay } from '../client/may.ts';
import { newID } from '../client/new-id.ts';
import type { WidgetTypes } from '../client/widget-types.ts';
import { useUndo } from '../editor/use-undo.tsx';
import { createStore } from '../page/state/store.ts';
import { useStore } from '../page/widgets/page-context.ts';
import { Notice } from '../ui/notice.tsx';
import { Problem } from '../ui/problem.tsx';
import { useUnsaved } from '../ui/unsaved.ts';
import { AddDialog } from './add/add-dialog.tsx';
import { firstConfig } from './add/first-values.ts';
import type { Offer } from './add/widget-words.ts';
import { BuilderHead } from './builder-head.tsx';
import type { CanvasState } from './canvas/canvas-state.ts';
import type { PageDocument, StoredPage, WidgetDraft } from './document.ts';
import { addWidget, newWidget, placedWidget, setPage } from './edits.ts';
import type { Screen } from './grid-edits.ts';
import { type Position, withNode } from './layout-edits.ts';
import { useOpenBuilder } from './open-builder.ts';
import { InsertDialog } from './panels/library/insert-dialog.tsx';
import { nameOfPart, nodeIDOf, partOf, positionAfter } from './parts.ts';
import { Preview } from './preview.tsx';
import { Conflict } from './save/conflict.tsx';
import { dropUnsaved, unsavedOf } from './save/unsaved.ts';
import { inOpenTab } from './tabs-of-part.tsx';
import { useBuilderKeys } from './use-builder-keys.ts';
import { usePartActions } from './use-part-actions.ts';
import { useSave } from './use-save.ts';
import { type Width, widths } from './widths.ts';
import { Workbench } from './workbench.tsx';

interface Props {
  tenantID: string;
  stored: StoredPage;
  /** Reads the page anew, which drops what is not saved. */
  onReload: () => Promise<unknown>;
}

/** The builder of a page or a dashboard: the page itself, its parts, and the panel of the part that is chosen. */
export function Builder({ tenantID, stored, onReload }: Props) {
  const [unsaved] = useState(() => unsavedOf(stored));
  const { value: document, change, put, restart, moves, undo } = useUndo(() => unsaved?.document ?? stored.document);
  const saving = useSave({ tenantID, stored, document, restored: unsaved });
  const { base, isDirty, save, theirs } = saving;
  const may = useMay(`${document.kind === 'app-page' ? 'appPage' : 'dashboard'}:${document.id}`);
  const mayChange = may(document.kind === 'app-page' ? 'appPage.update' : 'dashboard.update');
  useUnsaved(isDirty, mayChange ? saving.saved : undefined);
  useOpenBuilder({ document, mayChange, edit: put });
  const [width, setWidth] = useState<Width>(() => (window.innerWidth < 640 ? 'phone' : 'desktop'));
  const [screen, setScreen] = useState<Screen>('lg');
  const [isPreview, setPreview] = useState(false);
  const [adding, setAdding] = useState<{ position: Position | undefined }>();
  const [isInserting, setInserting] = useState(false);
  const [said, setSaid] = useState('');
  const latest = useLatest(document);
  const [canvas] = useState(() => canvasState({ latest, change, onAdd: (position) => setAdding({ position }) }));
  const selection = useStore(canvas.selection);
  const [only] = selection;
  const actions = usePartActions({
    ...{ document, edit: change, selection, screen, say: setSaid },
    select: (ids) => canvas.selection.set(new Set(ids)),
  });
  const openAdd = () => setAdding({ position: positionAfter(document, only) });
  const saveNow = () => mayChange && isDirty && !saving.isSaving && save();
  useBuilderKeys({
    ...{ actions, isOff: isPreview || !mayChange, onAdd: openAdd, onSave: saveNow },
    onLeave: () => canvas.selection.set(around(document, only)),
  });
  const drop = async () => {
    dropUnsaved(base);
    await onReload();
  };
  const add = (offer: Offer, types: WidgetTypes) => {
    const [next, id] = added(document, { offer, types, position: adding?.position });
    change(() => inOpenTab(next, id, canvas.page.current));
    canvas.selection.set(new Set([id]));
    setAdding(undefined);
    setSaid(`${offer.word} is added.`);
  };
  const insert = (stored: Omit<WidgetDraft, 'key'> & { id: string }, versionNumber: number) => {
    // One that the page shows already is inserted as it is edited here.
    const shown = Object.values(document.widgets).find(({ id }) => id === stored.id);
    const widget = placedWidget(document, { ...stored, ...shown, id: stored.id });
    if (!shown) saving.know(widget, versionNumber);
    const next = addWidget(widget, adding?.position)(document);
    const id = nodeIDOf(next, widget.key);
    change(() => inOpenTab(next, id, canvas.page.current));
    canvas.selection.set(new Set([id]));
    setInserting(false);
    setAdding(undefined);
    setSaid(`${stored.title} is added.`);
  };
  return (
    <div className="builder-page-frame">
      <BuilderHead
        {...{ tenantID, document, isDirty, mayChange, isPreview, width, undo }}
        isDraft={base.isDraft}
        isSaving={saving.isSaving}
        onTitle={(title) => change(setPage({ title }), 'title')}
        onWidth={setWidth}
        onPreview={setPreview}
        onSave={saveNow}
        onPublish={() => save(false)}
      />
      {unsaved && isDirty && (
        <Notice tone="wait" title="Changes that were not saved are here again">
          <Button size="compact-xs" variant="default" onClick={() => void drop()}>
            Drop them
          </Button>
        </Notice>
      )}
      {!mayChange && <Notice tone="wait">You may look at this page, and not change it.</Notice>}
      {saving.error && <Problem error={saving.error} />}
      {theirs && (
        <Conflict
          {...{ tenantID, theirs }}
          base={base.document}
          own={saving.own}
          onMerge={(merged) => {
            // A step back to before it would take the changes of the other person back too.
            restart(merged);
            saving.rebase(theirs);
            setSaid('Both changes are joined. Look at the page, and save it.');
          }}
          onOverwrite={() => saving.overwrite(theirs)}
          onTheirs={() => void drop()}
        />
      )}
      {isPreview ? (
        <div className="builder-sheet" style={{ width: widths[width].pixels ?? '100%' }}>
          <Preview {...{ tenantID, document }} />
        </div>
      ) : (
        <Workbench
          {...{ tenantID, document, canvas, selection, actions, width, screen, isDirty, mayChange, moves, said }}
          onScreen={setScreen}
          onAdd={openAdd}
          onReload={onReload}
        />
      )}
      {adding && isInserting && <InsertDialog onChoose={insert} onClose={() => setInserting(false)} />}
      {adding && !isInserting && (
        <AddDialog
          tenantID={tenantID}
          hasSections={document.kind === 'app-page'}
          where={whereOf(document, adding.position)}
          onAdd={add}
          onInsert={() => setInserting(true)}
          onClose={() => setAdding(undefined)}
        />
      )}
    </div>
  );
}

function useLatest<T>(value: T): { current: T } {
  const [latest] = useState({ current: value });
  latest.current = value;
  return latest;
}

interface Needs {
  latest: { current: PageDocument };
  change: CanvasState['edit'];
  onAdd: CanvasState['add'];
}

function canvasState({ latest, change, onAdd }: Needs): CanvasState {
  const selection = createStore<ReadonlySet<string>>(new Set());
  return {
    document: () => latest.current,
    edit: change,
    selection,
    choose(given, isMore = false) {
      const id = nodeIDOf(latest.current, given);
      const before = selection.get();
      if (!isMore) return selection.set(new Set([id]));
      const next = new Set(before);
      if (!next.delete(id)) next.add(id);
      selection.set(next);
    },
    page: { current: undefined },
    add: onAdd,
  };
}

/** The part around the one that is chosen; nothing around the page itself. */
function around(document: PageDocument, id: string | undefined): ReadonlySet<string> {
  const position = id === undefined ? undefined : partOf(document, id)?.position;
  return new Set(position ? [position.parentID] : []);
}

interface Adding {
  offer: Offer;
  types: WidgetTypes;
  position: Position | undefined;
}

/** The document with what was chosen from the offers, and the id of that part. */
function added(document: PageDocument, { offer, types, position }: Adding): [PageDocument, string] {
  if (offer.isSection) {
    const id = newID();
    return [{ ...document, config: withNode(document.config, { id, type: offer.type, children: [] }, position) }, id];
  }
  const config = firstConfig(offer.type, types[offer.type]?.data ?? {});
  const widget = newWidget(document, { title: offer.word, type: offer.type, config });
  const next = addWidget(widget, position)(document);
  return [next, nodeIDOf(next, widget.key)];
}

function whereOf(document: PageDocument, position: Position | undefined): string {
  if (document.kind === 'dashboard') return 'It comes below all others; then move it where it belongs.';
  if (!position) return 'It comes at the end of the page.';
  const isPage = partOf(document, position.parentID)?.position === undefined;
  return isPage ? 'It comes into the page.' : `It comes into “${nameOfPart(document, position.parentID)}”.`;
}
