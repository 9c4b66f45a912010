import { isObject } from '../../ui/is-object.ts';
import { identified, MAX_DEPTH } from './identified.ts';

/** Part of a layout, as it is drawn. Its shape is sure, that of the stored one is not. */
export interface Part {
  id: string;
  kind: 'column' | 'row' | 'container' | 'stack' | 'z-stack' | 'widget';
  /** Columns of twelve; undefined: its share of what is left. */
  span: number | undefined;
  gap: number | undefined;
  sizing: 'auto' | 'fill' | 'fixed';
  /** Pixels, with `fixed`. */
  height: number | undefined;
  /** For `stack`. */
  isSideBySide: boolean;
  /** For a widget. */
  widgetKey: string;
  /** Below a widget with tabs: the key of the tab that shows it. */
  tab: string | undefined;
  children: readonly Part[];
}

type Sizes = Pick<Part, 'span' | 'gap' | 'sizing' | 'height' | 'tab'>;

const MAX_PARTS = 3_000;
const COLUMNS = 12;

/** The layout of a page. Without one, its widgets stand below one another. A widget that is named twice is shown once. */
export function layoutOf({ layout, widgets }: Readonly<Record<string, unknown>>): Part {
  const seen = new Set<string>();
  const state = { seen, count: 0 };
  if (isObject(layout)) {
    const root = partOf(identified(layout), state, 0);
    if (root) return root;
  }
  const keys = Array.isArray(widgets) ? widgets.filter((key) => typeof key === 'string') : [];
  const children = [...new Set(keys)].map((key) => widgetPart(key, key, {}));
  return { ...EMPTY, id: 'root', kind: 'column', children };
}

const EMPTY: Omit<Part, 'id' | 'kind'> = {
  ...{ span: undefined, gap: undefined, sizing: 'auto', height: undefined, isSideBySide: false },
  ...{ widgetKey: '', tab: undefined, children: [] },
};

function partOf(
  given: Readonly<Record<string, unknown>>,
  state: { seen: Set<string>; count: number },
  depth: number,
): Part | undefined {
  state.count += 1;
  if (depth > MAX_DEPTH || state.count > MAX_PARTS) return undefined;
  const { type, widgetKey, children } = given;
  const id = String(given.id);
  const below = Array.isArray(children)
    ? children.flatMap((child) => (isObject(child) ? (partOf(child, state, depth + 1) ?? []) : []))
    : [];
  if (type === 'widget') {
    if (typeof widgetKey !== 'string' || state.seen.has(widgetKey)) return undefined;
    state.seen.add(widgetKey);
    return { ...widgetPart(id, widgetKey, given), children: below };
  }
  const kind = kinds.find((one) => one === type) ?? 'column';
  return {
    ...EMPTY,
    ...sizesOf(given),
    id,
    kind,
    isSideBySide: given.direction === 'horizontal',
    children: below,
  };
}

const kinds = ['column', 'row', 'container', 'stack', 'z-stack'] as const;

function widgetPart(id: string, widgetKey: string, given: Readonly<Record<string, unknown>>): Part {
  return { ...EMPTY, ...sizesOf(given), id, kind: 'widget', widgetKey };
}

const sizings = ['auto', 'fill', 'fixed'] as const;

function sizesOf({ span, gap, sizing, height, tab }: Readonly<Record<string, unknown>>): Sizes {
  return {
    span: boundedNumber(span, 1, COLUMNS),
    gap: boundedNumber(gap, 0, 100),
    sizing: sizings.find((one) => one === sizing) ?? 'auto',
    height: boundedNumber(height, 20, 5_000),
    tab: typeof tab === 'string' ? tab : undefined,
  };
}

function boundedNumber(value: unknown, min: number, max: number): number | undefined {
  return typeof value === 'number' && Number.isFinite(value)
    ? Math.min(Math.max(Math.round(value), min), max)
    : undefined;
}

/** The columns of twelve that each part of a row takes: its own, or an equal share of what the others leave. */
export function spansOf(parts: readonly Pick<Part, 'span'>[]): number[] {
  const taken = parts.reduce((sum, { span = 0 }) => sum + span, 0);
  const open = parts.filter(({ span }) => span === undefined).length;
  const share = Math.max(1, Math.floor(Math.max(COLUMNS - taken, 0) / Math.max(open, 1)));
  return parts.map(({ span }) => span ?? share);
}

/** The cell of a widget in the grid of a dashboard. */
export interface GridCell {
  widgetKey: string;
  x: number;
  y: number;
  w: number;
  h: number;
}

export interface Grid {
  columns: number;
  cells: readonly GridCell[];
}

/** From the widest to the narrowest: the least width in pixels, and the columns of the grid. */
const breaks = [
  { name: 'lg', from: 1_200, columns: 12 },
  { name: 'md', from: 996, columns: 10 },
  { name: 'sm', from: 640, columns: 6 },
] as const;

/** The grid of a dashboard for a width; undefined where its widgets stand below one another. */
export function gridOf({ layouts, widgets }: Readonly<Record<string, unknown>>, width: number): Grid | undefined {
  if (!isObject(layouts)) return undefined;
  const at = breaks.findIndex(({ from }) => width >= from);
  if (at === -1) return undefined;
  const known = new Set(Array.isArray(widgets) ? widgets : []);
  // The layout of the nearest wider screen stands for a missing one, else that of a narrower one.
  const order = [...breaks.slice(0, at + 1).toReversed(), ...breaks.slice(at + 1)];
  for (const { name, columns } of order) {
    const given = layouts[name];
    const cells = cellsIn(Array.isArray(given) ? given : [], known);
    if (cells.length === 0) continue;
    const least = Math.max(...cells.map(({ x, w }) => x + w));
    return { columns: Math.max(columns, least), cells: [...cells, ...unplaced(known, cells, columns)] };
  }
  return undefined;
}

function cellsIn(given: readonly unknown[], known: ReadonlySet<unknown>): GridCell[] {
  const seen = new Set<string>();
  return given.flatMap((one) => {
    if (!isObject(one) || typeof one.i !== 'string' || !known.has(one.i) || seen.has(one.i)) return [];
    seen.add(one.i);
    const whole = (value: unknown, least: number, most: number) => boundedNumber(value, least, most) ?? least;
    return [
      {
        widgetKey: one.i,
        x: whole(one.x, 0, 47),
        y: whole(one.y, 0, 5_000),
        w: whole(one.w, 1, 48),
        h: whole(one.h, 1, 200),
      },
    ];
  });
}

/** Widgets without a place stand below the others. */
function unplaced(known: ReadonlySet<unknown>, cells: readonly GridCell[], columns: number): GridCell[] {
  const seen = new Set(cells.map(({ widgetKey }) => widgetKey));
  const end = Math.max(...cells.map(({ y, h }) => y + h));
  const left = [...known].filter((key): key is string => typeof key === 'string' && !seen.has(key));
  return left.map((widgetKey, at) => ({ widgetKey, x: 0, y: end + at * 4, w: columns, h: 4 }));
}

/** Keys in the order in which a person reads the grid. */
export function readingOrder(config: Readonly<Record<string, unknown>>): string[] {
  const keys = Array.isArray(config.widgets) ? config.widgets.filter((key) => typeof key === 'string') : [];
  const grid = gridOf(config, Number.POSITIVE_INFINITY);
  if (!grid) return [...new Set(keys)];
  return grid.cells.toSorted((one, other) => one.y - other.y || one.x - other.x).map(({ widgetKey }) => widgetKey);
}
