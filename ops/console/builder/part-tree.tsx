import { type KeyboardEvent, useEffect, useRef, useState } from 'react';
import { nodesBelow } from '../page/layout/identified.ts';
import { readingOrder } from '../page/layout/tree.ts';
import { Icon } from '../ui/icon.tsx';
import { wordOf } from './add/widget-words.ts';
import type { PageDocument, WidgetDraft } from './document.ts';
import { keysOf } from './edits.ts';
import { type LayoutNode, layoutIn, widgetsIn } from './layout-edits.ts';
import { nameOfPart } from './parts.ts';

interface Row {
  id: string;
  name: string;
  /** The type of the widget, or what the part is. */
  note: string;
  level: number;
  hasParts: boolean;
  isOpen: boolean;
}

interface Props {
  document: PageDocument;
  selection: ReadonlySet<string>;
  onChoose: (id: string, isMore?: boolean) => void;
  /** Goes to the panel of the chosen part. */
  onOpen: () => void;
}

/** All parts of the page, one below the other: the way to them without a mouse. */
export function PartTree({ document, selection, onChoose, onOpen }: Props) {
  const [closed, setClosed] = useState<ReadonlySet<string>>(new Set());
  const rows = rowsOf(document, closed);
  const list = useRef<HTMLDivElement>(null);
  const [only] = selection;
  const current = rows.find(({ id }) => id === only) ?? rows[0];
  const focus = (id: string) => list.current?.querySelector<HTMLElement>(`[data-row="${CSS.escape(id)}"]`)?.focus();
  // The row of what was chosen on the canvas comes into view.
  useEffect(() => {
    if (only !== undefined)
      list.current?.querySelector(`[data-row="${CSS.escape(only)}"]`)?.scrollIntoView({ block: 'nearest' });
  }, [only]);
  const go = (row: Row | undefined) => {
    if (!row) return;
    onChoose(row.id);
    focus(row.id);
  };
  const toggle = (id: string, isOpen: boolean) => {
    const next = new Set(closed);
    if (isOpen) next.delete(id);
    else next.add(id);
    setClosed(next);
  };
  const onKey = (event: KeyboardEvent) => {
    if (event.altKey || event.ctrlKey || event.metaKey || !current) return;
    const { key } = event;
    const isOpening = key === 'ArrowRight' && !current.isOpen;
    const isClosing = key === 'ArrowLeft' && current.isOpen;
    if (key === 'Enter') onOpen();
    else if (current.hasParts && (isOpening || isClosing)) toggle(current.id, isOpening);
    else if (isMove(key)) go(rowAt(rows, current, key));
    else return;
    event.preventDefault();
    event.stopPropagation();
  };
  return (
    <div ref={list} role="tree" aria-label="Parts of the page" aria-multiselectable className="builder-tree">
      {rows.map(({ id, name, note, level, hasParts, isOpen }) => (
        <div
          key={id}
          role="treeitem"
          data-row={id}
          aria-level={level}
          aria-selected={selection.has(id)}
          aria-expanded={hasParts ? isOpen : undefined}
          tabIndex={id === current?.id ? 0 : -1}
          style={{ paddingLeft: 6 + (level - 1) * 12 }}
          onClick={(event) => onChoose(id, event.ctrlKey || event.metaKey || event.shiftKey)}
          onKeyDown={onKey}
        >
          {hasParts ? <Icon name={isOpen ? 'down' : 'onward'} size={12} /> : <span className="builder-leaf" />}
          <bdi>{name}</bdi> {note && <small>{note}</small>}
        </div>
      ))}
    </div>
  );
}

const moves = ['ArrowDown', 'ArrowUp', 'ArrowLeft', 'ArrowRight', 'Home', 'End'] as const;
type MoveKey = (typeof moves)[number];

function isMove(key: string): key is MoveKey {
  return moves.some((move) => move === key);
}

function rowAt(rows: readonly Row[], current: Row, key: MoveKey): Row | undefined {
  const at = rows.indexOf(current);
  if (key === 'Home') return rows[0];
  if (key === 'End') return rows.at(-1);
  if (key === 'ArrowLeft') return rows.slice(0, at).findLast(({ level }) => level < current.level);
  return rows[key === 'ArrowUp' ? at - 1 : at + 1];
}

/** Says what a widget is, unless its title does. */
function noteOf(widget: WidgetDraft | undefined): string {
  if (!widget) return 'not there';
  const word = wordOf(widget.type);
  return widget.title.includes(word) ? '' : word;
}

function rowsOf(document: PageDocument, closed: ReadonlySet<string>): Row[] {
  const { widgets, config, kind } = document;
  const leaf = (key: string, level: number): Row => ({
    ...{ id: key, name: widgets[key]?.title ?? key, note: noteOf(widgets[key]) },
    ...{ level, hasParts: false, isOpen: false },
  });
  if (kind === 'dashboard') return readingOrder(config).map((key) => leaf(key, 1));
  const rows: Row[] = [];
  const layout = layoutIn(config);
  const visit = (node: LayoutNode, level: number) => {
    const id = String(node.id);
    const below = nodesBelow(node);
    const isOpen = !closed.has(id);
    const note = node.type === 'widget' ? noteOf(widgets[String(node.widgetKey)]) : '';
    rows.push({ id, name: nameOfPart(document, id), note, level, hasParts: below.length > 0, isOpen });
    if (isOpen) for (const child of below) visit(child, level + 1);
  };
  visit(layout, 1);
  const placed = new Set(widgetsIn(layout));
  const unplaced = keysOf(document).filter((key) => !placed.has(key) && widgets[key]);
  return [...rows, ...unplaced.map((key) => ({ ...leaf(key, 1), note: 'not on the page' }))];
}
