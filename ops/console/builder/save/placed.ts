import { newID } from '../../client/new-id.ts';
import { isObject } from '../../ui/is-object.ts';
import type { PageDocument, Values } from '../document.ts';
import { keysOf } from '../edits.ts';
import { cellsOf, type Screen, screens, withoutCell } from '../grid-edits.ts';
import { layoutIn, nodeOfWidget, widgetsIn, withNode, withoutNode } from '../layout-edits.ts';

/**
 * Makes the keys and the layout of a page agree with its widgets after two changes of it were joined: what is left out goes from both, and
 * a widget of `widgets` comes back to both, to the end of a layout or into the cell that one of the two gives it.
 */
export function withWidgetsPlaced(
  document: PageDocument,
  dropped: readonly string[],
  sides: readonly PageDocument[],
): PageDocument {
  const { kind, widgets } = document;
  const isDropped = new Set(dropped);
  const listed = Array.isArray(document.config.widgets) ? document.config.widgets : [];
  const left = listed.filter((key) => !isDropped.has(key));
  const missing = [...new Set(sides.flatMap(keysOf))].filter((key) => widgets[key] && !left.includes(key));
  // A page whose keys agree keeps them as they are, also where it has none.
  const isSameList = missing.length === 0 && left.length === listed.length;
  const config = isSameList ? document.config : { ...document.config, widgets: [...left, ...missing] };
  const join = kind === 'dashboard' ? withCells : withNodes;
  return { ...document, config: join(config, { document, dropped, sides }) };
}

interface Joined {
  document: PageDocument;
  dropped: readonly string[];
  sides: readonly PageDocument[];
}

function withNodes(config: Values, { document: { widgets }, sides }: Joined): Values {
  const placed = new Set(widgetsIn(layoutIn(config)));
  const dropped = [...placed].filter((key) => !widgets[key]);
  const cleared = dropped.reduce((now, key) => {
    const node = nodeOfWidget(layoutIn(now), key);
    return node ? withoutNode(now, String(node.id)) : now;
  }, config);
  const shown = new Set(sides.flatMap((side) => widgetsIn(layoutIn(side.config))));
  return [...shown]
    .filter((key) => !placed.has(key) && widgets[key])
    .reduce((now, key) => withNode(now, { id: newID(), type: 'widget', widgetKey: key }), cleared);
}

function withCells(config: Values, { document: { widgets }, dropped, sides }: Joined): Values {
  const cleared = dropped.reduce(withoutCell, config);
  const layouts = layoutsIn(cleared);
  const more = screenNames.flatMap((screen): [string, Values[]][] => {
    const cells = cellsOf(layouts, screen);
    const given = sides.flatMap((side) => cellsOf(layoutsIn(side.config), screen));
    const byKey = new Map(given.filter(({ i }) => widgets[String(i)]).map((cell) => [cell.i, cell]));
    for (const { i } of cells) byKey.delete(i);
    return byKey.size === 0 ? [] : [[screen, [...cells, ...byKey.values()]]];
  });
  return more.length === 0 ? cleared : { ...cleared, layouts: { ...layouts, ...Object.fromEntries(more) } };
}

function layoutsIn({ layouts }: Values): Values {
  return isObject(layouts) ? layouts : {};
}

// Safe: its own keys.
const screenNames = Object.keys(screens) as Screen[];
