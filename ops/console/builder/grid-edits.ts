import { isObject } from '../ui/is-object.ts';
import type { Values } from './document.ts';

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
