import { useMemo, useRef } from 'react';
import { nodesBelow } from '../page/layout/identified.ts';
import { spansOf } from '../page/layout/tree.ts';
import { copiedParts, partsIn, withCopies } from './clipboard.ts';
import type { Edit, PageDocument } from './document.ts';
import { removePart, removeWidget } from './edits.ts';
import { changeCell, type Screen } from './grid-edits.ts';
import {
  type ChosenPart,
  COLUMNS,
  type Move,
  moveTo,
  nameOfPart,
  outermost,
  partOf,
  positionAfter,
  type Section,
  setPart,
  spanOf,
  stepOf,
  unwrap,
  wrap,
} from './parts.ts';

export interface PartActions {
  move: (move: Move) => void;
  setSpan: (id: string, span: number | undefined) => void;
  /** Takes the keys of a move: a part of a page gets wider and narrower, a widget of a dashboard higher and lower too. */
  resize: (move: Move) => void;
  remove: () => void;
  duplicate: () => void;
  /** Answers the text too. */
  copied: () => string | undefined;
  copy: () => Promise<void>;
  paste: (text: string) => void;
  wrap: (type: Section) => void;
  unwrap: () => void;
}

interface Needs {
  document: PageDocument;
  edit: (edit: Edit, what?: string) => void;
  selection: ReadonlySet<string>;
  select: (ids: readonly string[]) => void;
  /** The width for which a dashboard is laid out now. */
  screen: Screen;
  /** Tells what has been done, also to those who do not see it. */
  say: (text: string) => void;
}

/** Actions on the parts that are chosen, by buttons, by a menu and by keys. */
export function usePartActions(needs: Needs): PartActions {
  const latest = useRef(needs);
  latest.current = needs;
  return useMemo(() => actionsOf(() => latest.current), []);
}

function actionsOf(now: () => Needs): PartActions {
  const chosen = () => {
    const { document, selection } = now();
    return document.kind === 'dashboard' ? [...selection] : partsToChange(document, selection);
  };
  const insert = (text: string, verb: string) => {
    const { document, edit, select, say, selection } = now();
    const found = partsIn(text);
    if ('refused' in found) return say(found.refused);
    const [next, ids] = withCopies(document, found, positionAfter(document, lastOf(selection)));
    edit(() => next);
    select(ids);
    say(`${ids.length === 1 ? 'The part is' : `${ids.length} parts are`} ${verb}.`);
  };
  const copied = () => {
    const ids = chosen();
    return ids.length === 0 ? undefined : JSON.stringify(copiedParts(now().document, ids), null, 2);
  };
  return {
    move(move) {
      const { document, edit, say, selection, screen } = now();
      const [id] = selection;
      if (id === undefined || selection.size !== 1) return;
      if (document.kind === 'dashboard') return edit(changeCell(id, screen, steps[move]), `move ${id}`);
      const part = partOf(document, id);
      const position = part && stepOf(document, part.id, move);
      if (!part || !position) return say(`“${nameOfPart(document, id)}” cannot go further there.`);
      edit(moveTo(part.id, position));
      say(`“${nameOfPart(document, id)}” is moved ${words[move]}.`);
    },
    setSpan(id, span) {
      const fits = span === undefined || (span >= 1 && span <= COLUMNS);
      if (fits) now().edit(setPart(id, { span }), `width of ${id}`);
    },
    resize(move) {
      const { document, edit, selection, screen } = now();
      const [id] = selection;
      if (id === undefined || selection.size !== 1) return;
      const { x: w = 0, y: h = 0 } = steps[move];
      if (document.kind === 'dashboard') return edit(changeCell(id, screen, { w, h }), `size of ${id}`);
      const part = partOf(document, id);
      if (!part?.position || w === 0) return;
      const span = Math.min(Math.max((spanOf(part.node) ?? shareOf(part)) + w, 1), COLUMNS);
      edit(setPart(part.id, { span }), `width of ${id}`);
    },
    remove() {
      const { edit, select, say } = now();
      const ids = chosen();
      if (ids.length === 0) return;
      const next = neighbourOf(now().document, ids);
      edit((before) => ids.reduce((document, id) => removed(document, id), before));
      select(next === undefined ? [] : [next]);
      say(`${ids.length === 1 ? 'The part is' : `${ids.length} parts are`} removed. Undo brings them back.`);
    },
    duplicate() {
      const text = copied();
      if (text !== undefined) insert(text, 'duplicated');
    },
    copied,
    async copy() {
      const text = copied();
      if (text === undefined) return;
      await navigator.clipboard.writeText(text);
      now().say('Copied.');
    },
    paste: (text) => insert(text, 'pasted'),
    wrap(type) {
      const { document, edit, select } = now();
      const [next, id] = wrap(document, chosen(), type);
      edit(() => next);
      select([id]);
    },
    unwrap() {
      const { edit, select } = now();
      const [id] = chosen();
      if (id === undefined) return;
      edit(unwrap(id));
      select([]);
    },
  };
}

/** Columns and rows of a dashboard, by the arrow keys. */
const steps: Readonly<Record<Move, { x?: number; y?: number }>> = {
  before: { y: -1 },
  after: { y: 1 },
  into: { x: 1 },
  out: { x: -1 },
};

/** The width that a part has without one of its own. */
function shareOf({ parent, position }: ChosenPart): number {
  if (parent?.type !== 'row' || !position) return COLUMNS;
  const spans = nodesBelow(parent).map((node) => ({ span: spanOf(node) }));
  return spansOf(spans)[position.index] ?? 1;
}

const words: Readonly<Record<Move, string>> = {
  before: 'up',
  after: 'down',
  into: 'into the part beside it',
  out: 'out of the part around it',
};

/** Without the page as a whole, and without parts that lie in others. */
function partsToChange(document: PageDocument, selection: ReadonlySet<string>): string[] {
  const parts = [...selection].map((id) => partOf(document, id));
  const placed = parts.flatMap((part) => (part?.position ? [part.id] : []));
  const unplaced = parts.flatMap((part) => (part && !part.node ? [part.id] : []));
  return [...outermost(document, placed), ...unplaced];
}

function removed(document: PageDocument, id: string): PageDocument {
  const part = partOf(document, id);
  return part?.node ? removePart(id)(document) : removeWidget(id)(document);
}

/** The part to choose once others are removed: the one before the first of them, else the one around it. */
function neighbourOf(document: PageDocument, ids: readonly string[]): string | undefined {
  const [first = ''] = ids;
  const { position, parent } = partOf(document, first) ?? {};
  if (!position || !parent) return undefined;
  const children = Array.isArray(parent.children) ? parent.children : [];
  const left = children.filter(({ id }) => !ids.includes(id));
  return (left[Math.max(position.index - 1, 0)]?.id as string | undefined) ?? position.parentID;
}

function lastOf(selection: ReadonlySet<string>): string | undefined {
  return [...selection].at(-1);
}
