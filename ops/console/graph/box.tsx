import type { Node, NodeProps } from '@xyflow/react';
import { boxID } from './box-id.ts';
import { ExitHandles } from './card.tsx';
import type { Drawing } from './drawing.ts';
import type { ShownExit } from './exits.ts';
import type { Box, Flow, Layout } from './lay-out.ts';
import { handlesOf, sides } from './view.tsx';

interface Shown extends Record<string, unknown> {
  step: string;
  exits: readonly ShownExit[];
  flow: Flow;
}
export type BoxNode = Node<Shown, 'box'>;

/** Around a step that repeats others, and these. The exits behind all of them are at its edge. */
export function BodyBox({ id, data: { step, exits, flow } }: NodeProps<BoxNode>) {
  return (
    <div className="body-box">
      <ExitHandles id={id} step={step} exits={exits} flow={flow} />
    </div>
  );
}

/** Boxes of a drawing; they follow steps that are dragged, which the drawing does not. */
export function boxNodes(boxes: Layout['boxes'], { layout, exits }: Pick<Drawing, 'layout' | 'exits'>): BoxNode[] {
  return [...boxes].map(([step, box]) => boxNode(step, box, exits.get(step)?.box ?? [], layout.flow));
}

function boxNode(step: string, { x, y, width, height }: Box, exits: readonly ShownExit[], flow: Flow): BoxNode {
  return {
    ...{ id: boxID(step), type: 'box', position: { x, y }, data: { step, exits, flow }, zIndex: -1 },
    handles: handlesOf(exits, flow, { width, height }).slice(1),
    ...{ width, height, measured: { width, height } },
    ...{ sourcePosition: sides[flow].source, draggable: false, selectable: false, focusable: false, deletable: false },
  };
}
