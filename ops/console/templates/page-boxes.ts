import { layoutOf, type Part, spansOf } from '../page/layout/tree.ts';

/** The size of the picture of a page. */
export const WIDTH = 240;
export const HEIGHT = 120;

const GAP = 4;

interface Box {
  key: string;
  /** How it is drawn: filled, as a line of text, or with a border. */
  kind: 'panel' | 'text' | 'button';
  x: number;
  y: number;
  width: number;
  height: number;
  /** Lines across it, such as the rows of a table. */
  lines: readonly number[];
}

/** How much of a column a widget takes, compared with the others. */
const heights: Readonly<Record<string, number>> = {
  table: 8,
  form: 5,
  timeline: 4,
  'key-value': 4,
  bar: 5,
  line: 5,
  stat: 2,
  text: 1,
  button: 1,
};

const LEAST = 5;

/** The widgets of a page in the places that its layout gives them, as large as the picture. */
export function pagePicture(config: object, types: ReadonlyMap<string, string>): Box[] {
  const weigh = (part: Part): number => {
    if (part.kind === 'widget') return heights[types.get(part.widgetKey) ?? ''] ?? 1.5;
    const inner = part.children.map(weigh);
    return isRow(part) ? Math.max(1, ...inner) : inner.reduce((sum, one) => sum + one, 0);
  };
  const boxesOf = (part: Part, x: number, y: number, width: number, height: number): Box[] => {
    if (part.kind === 'widget')
      return [boxOf(part.widgetKey, types.get(part.widgetKey) ?? '', { x, y, width, height })];
    if (isRow(part)) {
      const spans = part.kind === 'row' ? spansOf(part.children) : part.children.map(() => 12 / part.children.length);
      const column = (width + GAP) / 12;
      let left = x;
      return part.children.flatMap((child, at) => {
        const own = column * (spans[at] ?? 1) - GAP;
        const boxes = boxesOf(child, left, y, own, height);
        left += own + GAP;
        return boxes;
      });
    }
    const all = part.children.reduce((sum, child) => sum + weigh(child), 0);
    const room = height - GAP * (part.children.length - 1);
    let top = y;
    return part.children.flatMap((child) => {
      const own = Math.max((room * weigh(child)) / all, LEAST);
      const boxes = boxesOf(child, x, top, width, own);
      top += own + GAP;
      return boxes;
    });
  };
  const root = layoutOf({ ...config });
  return boxesOf(root, GAP * 2, GAP * 2, WIDTH - GAP * 4, HEIGHT - GAP * 4);
}

function isRow({ kind, isSideBySide }: Part): boolean {
  return kind === 'row' || isSideBySide;
}

const ROW = 6;

function boxOf(key: string, type: string, at: Pick<Box, 'x' | 'y' | 'width' | 'height'>): Box {
  const kind = type === 'button' ? 'button' : type === 'text' ? 'text' : 'panel';
  const isList = type === 'table' || type === 'timeline' || type === 'key-value';
  const count = isList ? Math.max(Math.floor((at.height - ROW) / ROW), 0) : 0;
  return { key, kind, ...at, lines: Array.from({ length: count }, (_, line) => ROW * (line + 1)) };
}
