import { nodesBelow } from '../../page/layout/identified.ts';
import type { PageDocument } from '../document.ts';
import { findNode, type LayoutNode, layoutIn, type Position, positionOf } from '../layout-edits.ts';
import { type Beside, mayHold } from '../parts.ts';

export interface Box {
  left: number;
  top: number;
  width: number;
  height: number;
}

/** The effect of a drop, and the line that shows it. */
export type Drop = { line: Box } & ({ position: Position; beside?: never } | { beside: Beside; position?: never });

interface Point {
  x: number;
  y: number;
}

/** At the edge of a part that holds others, a drop goes beside that part. */
const EDGE = 8;
/** At the sides of a widget, a drop makes a row or a column. */
const SIDE = 0.2;
const LINE = 4;

/** The effect of a drop on a part. The part must not lie in the one that is dragged. */
export function dropAt(
  document: PageDocument,
  { targetID, draggedID }: { targetID: string; draggedID: string },
  point: Point,
  boxOf: (id: string) => Box | undefined,
): Drop | undefined {
  const layout = layoutIn(document.config);
  const target = findNode(layout, targetID);
  const dragged = findNode(layout, draggedID);
  const box = boxOf(targetID);
  if (!target || !dragged || !box || findNode(dragged, targetID)) return undefined;
  const around = { point, box, boxOf };
  const position = positionOf(layout, targetID);
  const parent = position && findNode(layout, position.parentID);
  const isHolding = mayHold(document, target);
  if (!position || !parent) return isHolding ? dropInside(target, around) : undefined;
  const along = axisOf(parent);
  if (isHolding) {
    if (isInMiddle(along, around)) return dropInside(target, around);
  } else {
    const beside = dropBeside(targetID, along, around);
    if (beside) return beside;
  }
  const isBefore = partWay(along, around) < 0.5;
  return {
    position: { ...position, index: isBefore ? position.index : position.index + 1 },
    line: edgeOf(box, along, isBefore),
  };
}

/** How far the pointer is along a part, from 0 to 1. */
function partWay(axis: Axis, { point, box }: Around): number {
  return axis === 'x' ? (point.x - box.left) / box.width : (point.y - box.top) / box.height;
}

function isInMiddle(axis: Axis, around: Around): boolean {
  const size = axis === 'x' ? around.box.width : around.box.height;
  const at = partWay(axis, around) * size;
  return at > EDGE && at < size - EDGE;
}

function dropBeside(otherID: string, along: Axis, around: Around): Drop | undefined {
  const across = along === 'x' ? 'y' : 'x';
  const at = partWay(across, around);
  if (at >= SIDE && at <= 1 - SIDE) return undefined;
  const isBefore = at < SIDE;
  const type = along === 'x' ? 'column' : 'row';
  return { beside: { otherID, type, isBefore }, line: edgeOf(around.box, across, isBefore) };
}

type Axis = 'x' | 'y';

interface Around {
  point: Point;
  box: Box;
  boxOf: (id: string) => Box | undefined;
}

function dropInside(target: LayoutNode, { point, box, boxOf }: Around): Drop {
  const along = axisOf(target);
  const boxes = nodesBelow(target).map(({ id }) => boxOf(String(id)));
  const found = boxes.findIndex((one) => one && isBeforeMiddle(one, point, along));
  const index = found === -1 ? boxes.length : found;
  const position = { parentID: String(target.id), index };
  const next = boxes[index];
  const before = boxes[index - 1];
  if (next) return { position, line: edgeOf(next, along, true) };
  if (before) return { position, line: edgeOf(before, along, false) };
  return { position, line: box };
}

/** In a row, parts that do not fit stand in further lines. */
function isBeforeMiddle({ left, top, width, height }: Box, { x, y }: Point, along: Axis): boolean {
  if (along === 'y') return y < top + height / 2;
  return y < top + height && x < left + width / 2;
}

/** The direction in which a part places its parts. */
export function axisOf({ type, direction }: LayoutNode): Axis {
  return type === 'row' || (type === 'stack' && direction === 'horizontal') ? 'x' : 'y';
}

function edgeOf({ left, top, width, height }: Box, axis: Axis, isBefore: boolean): Box {
  if (axis === 'x') return { left: (isBefore ? left : left + width) - LINE / 2, top, width: LINE, height };
  return { left, top: (isBefore ? top : top + height) - LINE / 2, width, height: LINE };
}
