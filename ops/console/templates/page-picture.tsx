import { useMemo } from 'react';
import { HEIGHT, pagePicture, WIDTH } from './page-boxes.ts';

/** The widgets of a page as boxes in their places, for the eye alone: words beside it say what it is. */
export function PagePicture({ config, types }: { config: object; types: ReadonlyMap<string, string> }) {
  const boxes = useMemo(() => pagePicture(config, types), [config, types]);
  return (
    <svg className="template-picture" viewBox={`0 0 ${WIDTH} ${HEIGHT}`} aria-hidden="true" focusable="false">
      <rect className="picture-box" width={WIDTH} height={HEIGHT} rx={6} />
      {boxes.map(({ key, kind, x, y, width, height, lines }) => (
        <g key={key} transform={`translate(${x} ${y})`} className="picture-part" data-kind={kind}>
          <rect width={width} height={height} rx={2} />
          {lines.map((line) => (
            <path key={line} className="picture-line" d={`M3,${line} H${width - 3}`} />
          ))}
        </g>
      ))}
    </svg>
  );
}
