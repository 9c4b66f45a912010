import { useMemo } from 'react';
import { drawingOf } from '../graph/drawing.ts';
import { type Exit, exitOfEdge, exitsOf, NEXT, partOfSide } from '../graph/exits.ts';
import { type Kinds, wordsOf } from '../graph/kinds.ts';
import { HEIGHT, pathBy, WIDTH } from '../graph/lay-out.ts';
import type { Point, ShownGraph } from '../graph/shown.ts';
import { outlines } from '../ui/outlines.ts';

const MARGIN = 16;
/** The line of the name of an exit, below its handle. */
const EXIT_BELOW = 16;

interface Props {
  graph: ShownGraph;
  kinds: Kinds;
  titleOf: (id: string) => string;
  /** The name for screen readers. */
  label: string;
}

/** The graph as the canvas of the editor draws it, without what is for editing. */
export function LargePicture({ graph, kinds, titleOf, label }: Props) {
  const drawn = useMemo(() => picture(graph, kinds), [graph, kinds]);
  const { x, y, width, height } = drawn.view;
  return (
    <svg
      className="template-picture large"
      viewBox={`${x} ${y} ${width} ${height}`}
      style={{ maxWidth: width }}
      role="img"
      aria-label={label}
    >
      {drawn.boxes.map(([id, box]) => (
        <rect key={id} className="picture-box" rx={10} {...box} />
      ))}
      {drawn.lines.map(({ id, path }) => (
        <path key={id} className="picture-line" d={path} />
      ))}
      {drawn.lines.map(
        ({ id, name, at }) =>
          name !== undefined && (
            <text key={id} className="picture-exit" x={at.x} y={at.y + EXIT_BELOW}>
              {name}
            </text>
          ),
      )}
      {graph.nodes.map(({ id, type }) => (
        <Card key={id} at={drawn.positions.get(id)} type={type} kinds={kinds} title={titleOf(id)} />
      ))}
    </svg>
  );
}

function Card({ at, type, kinds, title }: { at: Point | undefined; type: string; kinds: Kinds; title: string }) {
  const { word, group, icon } = wordsOf(type, kinds[type]);
  return (
    <g transform={`translate(${at?.x ?? 0} ${at?.y ?? 0})`}>
      <rect className="picture-card" width={WIDTH} height={HEIGHT} rx={8} />
      <g transform="translate(12 24)" className="picture-tile" data-group={group}>
        <rect width={28} height={28} rx={6} />
        <path d={outlines[icon]} transform="translate(5 5) scale(0.75)" />
      </g>
      {/* A text of SVG neither wraps nor is cut. */}
      <foreignObject x={48} y={12} width={WIDTH - 58} height={HEIGHT - 20}>
        <div className="picture-words">
          <strong>{title}</strong>
          <span>{word}</span>
        </div>
      </foreignObject>
    </g>
  );
}

function picture(graph: ShownGraph, kinds: Kinds) {
  const { layout, bodies, exits } = drawingOf(graph, kinds);
  const { positions, boxes, ways } = layout;
  const steps = new Map(graph.nodes.map((node) => [node.id, node]));
  const lines = graph.edges.flatMap(({ id, source, target, sourceHandle }) => {
    const [from, to, step] = [positions.get(source), positions.get(target), steps.get(source)];
    if (!from || !to || !step || bodies.returns.has(id)) return [];
    const own = exits.get(source);
    const ofBox = boxes.get(source);
    const leftBy = exitOfEdge(kinds[step.type], step.data, sourceHandle);
    const isOfBox = ofBox !== undefined && leftBy !== kinds[step.type]?.bodyExit;
    const side = isOfBox ? { ...ofBox, exits: own?.box } : { ...from, width: WIDTH, height: HEIGHT, exits: own?.card };
    const all: readonly Exit[] = side.exits ?? exitsOf(kinds[step.type], step.data);
    const index = Math.max(
      0,
      all.findIndex((exit) => exit.id === leftBy),
    );
    const ends = {
      sourceX: side.x + side.width * partOfSide(all, index),
      sourceY: side.y + side.height,
      targetX: to.x + WIDTH / 2,
      targetY: to.y,
    };
    const name = all[index]?.name;
    const at = { x: ends.sourceX, y: ends.sourceY };
    return [{ id, path: pathBy(ends, ways.get(id) ?? []), at, name: name === NEXT ? undefined : name }];
  });
  const rects = [
    ...[...positions.values()].map(({ x, y }) => ({ x, y, width: WIDTH, height: HEIGHT })),
    ...boxes.values(),
  ];
  const [left, top] = [Math.min(...rects.map(({ x }) => x)), Math.min(...rects.map(({ y }) => y))];
  const right = Math.max(...rects.map(({ x, width }) => x + width));
  const bottom = Math.max(...rects.map(({ y, height }) => y + height));
  const view = {
    ...{ x: left - MARGIN, y: top - MARGIN },
    ...{ width: right - left + 2 * MARGIN, height: bottom - top + 2 * MARGIN },
  };
  return { positions, boxes: [...boxes], lines, view };
}
