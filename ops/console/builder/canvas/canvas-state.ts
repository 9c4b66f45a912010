import { createContext, useContext, useSyncExternalStore } from 'react';
import type { PageState } from '../../page/state/page-state.ts';
import type { Store } from '../../page/state/store.ts';
import type { Edit, PageDocument } from '../document.ts';
import type { Position } from '../layout-edits.ts';

/** The builder as the parts of the page on the canvas know it. It is the same object as long as the builder is open. */
export interface CanvasState {
  document: () => PageDocument;
  edit: (edit: Edit, what?: string) => void;
  /** Ids of parts. */
  selection: Store<ReadonlySet<string>>;
  choose: (id: string, isMore?: boolean) => void;
  /** The page as it is drawn, while it is. */
  page: { current: PageState | undefined };
  /** Opens the dialog that adds something at a position. */
  add: (position: Position | undefined) => void;
}

export const CanvasContext = createContext<CanvasState | undefined>(undefined);

export function useCanvas(): CanvasState {
  const canvas = useContext(CanvasContext);
  if (!canvas) throw new Error('A part is drawn outside of a canvas');
  return canvas;
}

/** Whether a part is chosen, and alone. */
export function useIsChosen(id: string): 'no' | 'alone' | 'with others' {
  const { selection } = useCanvas();
  return useSyncExternalStore(selection.subscribe, () => {
    const now = selection.get();
    if (!now.has(id)) return 'no';
    return now.size === 1 ? 'alone' : 'with others';
  });
}
