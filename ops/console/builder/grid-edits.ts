import { gridOf } from '../page/layout/tree.ts';
import { isObject } from '../ui/is-object.ts';
import { type Edit, isSame, type Values } from './document.ts';

/** Widths of the screen for which a dashboard has a layout, and the columns of its grid. */
export const screens = { lg: 12, md: 10, sm: 6 } as const;
export type Screen = keyof typeof screens;

/** The cell of a new widget. */
const NEW = { w: 4, h: 4 };

/** Places a widget below all others, for each width that has a layout. */
export function withCell(config: Values, key: string, size: { w: number; h: number } = NEW): Values {
  const layouts = isObject(config.layouts) ? config.layouts : {};
  const laidOut = screenNames.filter((name) => cellsOf(layouts, name).length > 0);
  // A dashboard without a layout shows its widgets below one another, which the first layout keeps.
  if (laidOut.length === 0) {
    const others = keysOf(config).filter((one) => one !== key);
    const cells = others.map((i, at) => ({ i, x: 0, y: at * NEW.h, w: screens.lg, h: NEW.h }));
    return { ...config, layouts: { ...layouts, lg: [...cells, { i: key, x: 0, y: others.length * NEW.h, ...size }] } };
  }
  const added = laidOut.map((name): [string, unknown[]] => {
    const cells = cellsOf(layouts, name);
    const end = Math.max(...cells.map(({ y, h }) => (Number(y) || 0) + (Number(h) || 0)));
    return [name, [...cells, { i: key, x: 0, y: end, w: Math.min(size.w, screens[name]), h: size.h }]];
  });
  return { ...config, layouts: { ...layouts, ...Object.fromEntries(added) } };
}

export function withoutCell(config: Values, key: string): Values {
  const { layouts } = config;
  if (!isObject(layouts)) return config;
  const next = Object.entries(layouts).map(([name, cells]) => [
    name,
    Array.isArray(cells) ? cells.filter((cell) => !(isObject(cell) && cell.i === key)) : cells,
  ]);
  return { ...config, layouts: Object.fromEntries(next) };
}

const screenNames = ['lg', 'md', 'sm'] as const;

export function cellsOf(layouts: Values, name: Screen): Values[] {
  const cells = layouts[name];
  return Array.isArray(cells) ? cells.filter(isObject) : [];
}

function keysOf({ widgets }: Values): string[] {
  return Array.isArray(widgets) ? widgets.filter((key) => typeof key === 'string') : [];
}

/** The layout of one width, with a cell for each widget: that of the nearest wider screen where there is none. */
export function layoutFor(config: Values, screen: Screen): Cell[] {
  const grid = gridOf(config, widths[screen]);
  if (grid) return grid.cells.map(({ widgetKey, ...cell }) => ({ i: widgetKey, ...cell }));
  return keysOf(config).map((i, at) => ({ i, x: 0, y: at * NEW.h, w: screens[screen], h: NEW.h }));
}

/** The least room at which each layout is shown, as the page has it. */
const widths: Readonly<Record<Screen, number>> = { lg: 1_200, md: 996, sm: 640 };

export interface Cell {
  i: string;
  x: number;
  y: number;
  w: number;
  h: number;
}

/** Moves or resizes a widget to a cell of one width; those that it covers then go below it. */
export function setCell(screen: Screen, cell: Cell): Edit {
  return (document) => setCells(screen, settled(layoutFor(document.config, screen), cell))(document);
}

/** Sets the cells of one width. Further fields of cells stay, and so does the order in which they are stored. */
function setCells(screen: Screen, cells: readonly Cell[]): Edit {
  return (document) => {
    const { config } = document;
    const layouts = isObject(config.layouts) ? config.layouts : {};
    const before = cellsOf(layouts, screen);
    const now = new Map(cells.map(({ i, x, y, w, h }) => [i, { i, x, y, w, h }]));
    const known = before.map((cell) => ({ ...cell, ...now.get(String(cell.i)) }));
    const seen = new Set(before.map(({ i }) => i));
    const next = [...known, ...[...now.values()].filter(({ i }) => !seen.has(i))];
    if (isSame(before, next)) return document;
    return { ...document, config: { ...config, layouts: { ...layouts, [screen]: next } } };
  };
}

/** Moves or resizes a widget of a dashboard by one column or row, on the screen that is shown. */
export function changeCell(key: string, screen: Screen, change: Partial<Record<'x' | 'y' | 'w' | 'h', number>>): Edit {
  return (document) => {
    const cells = layoutFor(document.config, screen);
    const cell = cells.find(({ i }) => i === key);
    if (!cell) return document;
    const columns = screens[screen];
    const w = Math.min(Math.max(cell.w + (change.w ?? 0), 1), columns);
    const x = Math.min(Math.max(cell.x + (change.x ?? 0), 0), columns - w);
    const next = { ...cell, x, w, y: Math.max(cell.y + (change.y ?? 0), 0), h: Math.max(cell.h + (change.h ?? 0), 1) };
    return setCell(screen, next)(document);
  };
}

/** Moves those that a cell now covers below it. */
function settled(cells: readonly Cell[], moved: Cell): Cell[] {
  const placed = [moved];
  const others = cells.filter(({ i }) => i !== moved.i).toSorted((one, other) => one.y - other.y || one.x - other.x);
  for (const cell of others) {
    let next = cell;
    for (let hit = placed.find((one) => covers(one, next)); hit; hit = placed.find((one) => covers(one, next)))
      next = { ...next, y: hit.y + hit.h };
    placed.push(next);
  }
  return placed;
}

function covers(one: Cell, other: Cell): boolean {
  const isBeside = one.x + one.w <= other.x || other.x + other.w <= one.x;
  return !isBeside && one.y < other.y + other.h && other.y < one.y + one.h;
}
