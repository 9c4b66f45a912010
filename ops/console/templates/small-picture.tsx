import { useMemo } from 'react';
import { type Kinds, wordsOf } from '../graph/kinds.ts';
import type { ShownGraph } from '../graph/shown.ts';
import { outlines } from '../ui/outlines.ts';
import { smallGraphOf, TILE } from './small-graph.ts';

const ICON = 24;

/** The steps of a graph by their icons, for the eye alone: words beside it say what it is. */
export function SmallPicture({ graph, kinds }: { graph: ShownGraph; kinds: Kinds }) {
  const { width, height, tiles, lines, boxes } = useMemo(() => smallGraphOf(graph, kinds), [graph, kinds]);
  return (
    <svg className="template-picture" viewBox={`0 0 ${width} ${height}`} aria-hidden="true" focusable="false">
      {boxes.map(({ id, ...box }) => (
        <rect key={id} className="picture-box" rx={8} {...box} />
      ))}
      {lines.map(({ id, path }) => (
        <path key={id} className="picture-line" d={path} />
      ))}
      {tiles.map(({ id, type, x, y }) => {
        const { group, icon } = wordsOf(type, kinds[type]);
        const inset = (TILE - ICON) / 2;
        return (
          <g key={id} transform={`translate(${x} ${y})`} className="picture-tile" data-group={group}>
            <rect width={TILE} height={TILE} rx={9} />
            <path d={outlines[icon]} transform={`translate(${inset} ${inset})`} />
          </g>
        );
      })}
    </svg>
  );
}
